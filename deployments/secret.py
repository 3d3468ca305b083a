"""The cluster's secret, and the greeting by which replicas of one service know each other."""

import hmac
from typing import Final

from app.errors import UnauthorizedError

MAX_GREETING_BYTES: Final = 1024
"""Largest frame of somebody who has not shown the secret."""


def same_secret(given: str, secret: str) -> bool:
    """Returns whether two secrets are equal, in a time that does not tell how far they agree."""
    return hmac.compare_digest(given.encode(), secret.encode())


def greeting(what: str, secret: str) -> str:
    """Returns the first frame of a kept connection: what it carries, in which version, and the cluster's secret."""
    return f"sparring {what} {secret}"


def refuse_strangers(shown: bytes, what: str, secret: str) -> None:
    """Does nothing where a connection's first frame is the greeting of a replica of this service.

    Raises:
      UnauthorizedError: It is not.
    """
    if not same_secret(shown.decode(errors="replace"), greeting(what, secret)):
        raise UnauthorizedError(f"no greeting of a replica of this service for {what!r}")
