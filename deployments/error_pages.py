"""The trial's errors over HTTP, to read."""

from collections.abc import Awaitable
from typing import Final, Protocol, cast, get_args

import orjson

from app.errors import BadRequestError
from app.logs.errors import Severity, Wanted
from app.stores.errors import Errors
from app.wire.http import JSON, HttpReply, HttpRequest
from deployments.asking import PATIENCE_S, in_time, whole

ERRORS: Final = "/errors"
LIMIT_MAX: Final = 1_000
"""Most errors of one answer."""


class Asked(Protocol):
    """What keeps the errors."""

    def newest(self, wanted: Wanted) -> Awaitable[Errors]:
        """Returns those that somebody wants to see."""


class ErrorPages:
    """Answers who asks what went wrong."""

    def __init__(self, errors: Asked) -> None:
        """Keeps who is asked.

        Args:
          errors: Keeps the errors of the trial.
        """
        self._errors = errors

    async def show(self, request: HttpRequest) -> HttpReply:
        """Returns the newest errors, the oldest of them first; ``traceback=1`` with their tracebacks.

        Raises:
          BadRequestError: A field of the query is none of what is allowed.
          OverloadedError: The store does not answer.
        """
        wanted, traceback = _wanted(request), request.fields.get("traceback", "0")
        if traceback not in ("0", "1"):
            raise BadRequestError(f"traceback is {traceback[:40]!r}; allowed are 0 and 1")
        found = await in_time(self._errors.newest(wanted), "the store of errors", PATIENCE_S)
        return HttpReply(200, orjson.dumps(found.as_dict(traceback=traceback == "1")), JSON)


def _wanted(request: HttpRequest) -> Wanted:
    level = request.fields.get("level", "error")
    if level not in get_args(Severity):
        raise BadRequestError(f"level is {level[:40]!r}; allowed are {', '.join(get_args(Severity))}")
    return Wanted(
        cast("Severity", level),
        whole(request, "after", 0, 2**53),
        whole(request, "limit", Wanted().limit, LIMIT_MAX),
        request.fields.get("process", ""),
        request.fields.get("session", ""),
    )
