"""Health, readiness and status of a process that holds no games."""

from collections.abc import Callable

import orjson

from app.errors import UnauthorizedError
from app.wire.http import HttpReply, HttpRequest
from app.wire.routes import unserved
from app.wire.step_fields import credentials_of
from app.wire.steps import Credentials


class Health:
    """Answers ``/healthz``, ``/readyz`` and ``/status`` from one document."""

    def __init__(
        self, status: Callable[[], dict[str, object]], may_see: Callable[[Credentials | None], bool] = lambda _: True
    ) -> None:
        """Makes an answerer.

        Args:
          status: Returns what ``/status`` shows; its ``healthy`` and ``ready`` decide the other two.
          may_see: Tells whether credentials open ``/status``.
        """
        self._status = status
        self._may_see = may_see

    async def __call__(self, request: HttpRequest) -> HttpReply:
        """Returns the reply to an operator's ``GET`` or ``HEAD``.

        Raises:
          UnauthorizedError: The credentials do not open ``/status``.
        """
        wanted = {"/healthz": "healthy", "/readyz": "ready"}.get(request.path)
        if wanted is not None:
            status = self._status()
            shown = {"healthy": status["healthy"], "ready": status["ready"]}
            return HttpReply(200 if status[wanted] else 503, orjson.dumps(shown))
        if request.path != "/status":
            return unserved(request)
        if not self._may_see(credentials_of(request.fields)):
            raise UnauthorizedError("/status needs the key of an administrator; /healthz and /readyz do not")
        return HttpReply(200, orjson.dumps(self._status()))
