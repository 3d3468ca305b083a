"""Which sessions play the challenger."""

import hashlib
from typing import Final

from app.types import SessionId, Version

_RANGE: Final = 2**64


def plays_challenger(session: SessionId, challenger: Version, share: float) -> bool:
    """Returns whether a session is one of the share that plays the challenger; the same on every replica.

    A session that plays it at one share plays it at every larger one. Each challenger draws its own sessions, so that
    none is for ever the one on which new versions are tried.

    Args:
      session: Its id.
      challenger: Version that is tried.
      share: Part of the sessions, in [0, 1].
    """
    digest = hashlib.blake2b(f"{challenger}/{session}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) < share * _RANGE
