"""What pages share that ask a store of the trial: a wait that ends, and fields of the query."""

import asyncio
from collections.abc import Awaitable
from typing import Final, TypeVar

from ray.exceptions import RayError

from app.errors import BadRequestError, OverloadedError
from app.wire.http import HttpRequest

PATIENCE_S: Final = 10.0
"""Longest wait for a store."""

_T = TypeVar("_T")


async def in_time(answer: Awaitable[_T], whose: str, patience_s: float = PATIENCE_S) -> _T:
    """Returns the answer of a store.

    Args:
      answer: On its way.
      whose: Who is asked, for the message.
      patience_s: Longest wait.

    Raises:
      OverloadedError: The store does not answer.
    """
    try:
        async with asyncio.timeout(patience_s):
            return await answer
    except (RayError, TimeoutError) as error:
        raise OverloadedError(f"{whose} does not answer: {type(error).__name__}") from error


def whole(request: HttpRequest, name: str, default: int, largest: int) -> int:
    """Returns a whole number of the query.

    Raises:
      BadRequestError: It is none from 0 to the largest.
    """
    text = request.fields.get(name, str(default))
    if not text.isdecimal() or len(text) > len(str(largest)) or int(text) > largest:
        raise BadRequestError(f"{name} is {text[:40]!r}; allowed are 0 to {largest}")
    return int(text)
