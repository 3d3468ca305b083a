"""The weights of one model in this process: the newest, and a bounded number of others."""

from collections import Counter, OrderedDict
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from app.errors import OverloadedError
from app.types import UNTRAINED, Version

MIB: Final = 2**20

Built = TypeVar("Built")
"""What an engine makes of weights, ready to answer."""


@dataclass(frozen=True, slots=True)
class Bound:
    """How much is kept beside the newest weights, versions in play included."""

    versions: int = 64
    mb: float = 1024.0
    """MiB of weights."""


class Versions(Generic[Built]):
    """Keeps the newest weights and those that were used last; what is held stays until it is released.

    Nothing here waits or copies: the newest weights are exchanged as a whole, between two batches.
    """

    def __init__(self, first: Built, size_bytes: int, bound: Bound | None = None) -> None:
        """Begins with the first weights.

        Args:
          first: Weights of version 0.0.
          size_bytes: Bytes of one version; all of a model have the same.
          bound: How much is kept beside the newest; None keeps the default.
        """
        bound = bound or Bound()
        self.newest = first
        self.version = UNTRAINED
        self.most = max(1, min(bound.versions, int(bound.mb * MIB) // max(1, size_bytes)))
        """Versions kept beside the newest; at least one, however large it is."""
        self._always: dict[Version, Built] = {}
        self._kept: OrderedDict[Version, Built] = OrderedDict()
        self._holds: Counter[Version] = Counter()

    def swap(self, version: Version, built: Built) -> None:
        """Makes these the newest weights."""
        self.newest, self.version = built, version

    def keep_for_good(self) -> None:
        """Keeps the newest weights for ever, beside those that are counted: nobody else has them."""
        self._always[self.version] = self.newest

    def has(self, version: Version) -> bool:
        """Returns whether a version is kept."""
        return version in self._kept or version in self._always

    def get(self, version: Version) -> Built:
        """Returns the weights of a kept version, which thereby was used last.

        Raises:
          KeyError: It is not kept.
        """
        if version in self._always:
            return self._always[version]
        self._kept.move_to_end(version)
        return self._kept[version]

    def keep(self, version: Version, built: Built) -> None:
        """Keeps weights beside the newest; those that were used longest ago make room.

        Raises:
          OverloadedError: All that may be kept are in play.
        """
        if version not in self._kept:
            self._make_room(version)
        self._kept[version] = built
        self._kept.move_to_end(version)

    def hold(self, version: Version) -> None:
        """Keeps a version, however many follow, until it is released as often as it was held."""
        self._holds[version] += 1

    def release(self, version: Version) -> None:
        """Takes one hold back; the weights stay until others need their room."""
        self._holds[version] -= 1
        if self._holds[version] <= 0:
            del self._holds[version]

    def newest_in_play(self) -> Version | None:
        """Returns a trainer's newest held version where no other can be kept; None where there is room."""
        held = [version for version in self._kept if version in self._holds]
        return (
            max((version for version in held if not version.frozen), default=None) if len(held) >= self.most else None
        )

    def _make_room(self, version: Version) -> None:
        while len(self._kept) >= self.most:
            oldest = next((kept for kept in self._kept if kept not in self._holds), None)
            if oldest is None:
                raise OverloadedError(
                    f"weights {version} find no room: {len(self._kept)} other versions are in play, allowed are "
                    f"{self.most}; models.<name>.weights.cache_versions and cache_mb say how many"
                )
            del self._kept[oldest]
