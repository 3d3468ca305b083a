"""Who plays the rows that a version lacks, where games wait for the trainer: one replica at a time."""

from dataclasses import dataclass
from typing import Final

from app.types import Version

LEASE_S: Final = 2.0
"""Time after which rows that were asked for are asked of another replica, unless whoever plays them has come forward
meanwhile."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The rows of a version that somebody plays."""

    claimer: str
    version: Version
    until_s: float


class Claims:
    """Knows who plays what is missing. Two replicas play it only where the first made no progress for a lease."""

    def __init__(self) -> None:
        self._claim: Claim | None = None

    def take(self, claimer: str, version: Version, now_s: float) -> bool:
        """Returns whether a replica is to play the missing rows of a version.

        One that asks again has played what it was asked for: it is answered at once.

        Args:
          claimer: Names the replica.
          version: That lacks rows.
          now_s: Time of a clock that never goes back.
        """
        held = self._claim
        if held is not None and held.version == version and held.claimer != claimer and now_s < held.until_s:
            return False
        self._claim = Claim(claimer, version, now_s + LEASE_S)
        return True

    def renew(self, claimer: str, version: Version, now_s: float) -> None:
        """Prolongs the lease of a replica that plays on; that of another is left alone."""
        held = self._claim
        if held is not None and (held.claimer, held.version) == (claimer, version):
            self._claim = Claim(claimer, version, now_s + LEASE_S)
