"""What every engine does with the versions of its weights, whatever it makes of them."""

from abc import ABC, abstractmethod
from typing import Generic

from app.models.spec import ModelSpec
from app.models.versions import Built, Versions
from app.types import Arrays, Version


class VersionedEngine(ABC, Generic[Built]):
    """Weights that are built in any thread, and exchanged as a whole between two batches."""

    def __init__(self, spec: ModelSpec, versions: Versions[Built]) -> None:
        """Takes the model's shapes and its first weights."""
        self.spec = spec
        self._versions = versions

    @property
    def version(self) -> Version:
        """Version of the newest weights."""
        return self._versions.version

    @abstractmethod
    def build(self, arrays: Arrays) -> Built:
        """Returns what ``swap`` and ``keep`` take; from any thread, since it may take a while.

        Raises:
          ModelMismatchError: The weights do not fit the model.
        """

    def swap(self, version: Version, built: Built) -> None:
        """Makes what was built the newest."""
        self._versions.swap(version, built)

    def keep(self, version: Version, built: Built | None = None) -> None:
        """Keeps what was built beside the newest; None keeps the newest itself.

        Raises:
          OverloadedError: All versions that may be kept are held.
        """
        self._versions.keep(version, self._versions.newest if built is None else built)

    def load(self, version: Version, arrays: Arrays) -> None:
        """Makes these the newest weights, at once.

        Raises:
          ModelMismatchError: They do not fit the model.
        """
        self.swap(version, self.build(arrays))

    def pin(self, version: Version, arrays: Arrays | None = None) -> None:
        """Keeps a version beside the newest, at once; without arrays, the newest weights.

        Raises:
          ModelMismatchError: The weights do not fit the model.
          OverloadedError: All versions that may be kept are held.
        """
        self.keep(version, None if arrays is None else self.build(arrays))

    def has(self, version: Version) -> bool:
        """Returns whether a version is kept."""
        return self._versions.has(version)

    def hold(self, version: Version) -> None:
        """Keeps a version, however many follow, until it is released as often as it was held."""
        self._versions.hold(version)

    def release(self, version: Version) -> None:
        """Takes one hold back."""
        self._versions.release(version)

    def newest_in_play(self) -> Version | None:
        """Returns a trainer's newest held version where no other can be kept; None where there is room."""
        return self._versions.newest_in_play()

    def keep_for_good(self) -> None:
        """Keeps the newest weights for ever: no store has them."""
        self._versions.keep_for_good()

    def _built(self, version: Version | None) -> tuple[Built, Version]:
        """Returns what answers for a version, None being the newest, and which version that is.

        Raises:
          KeyError: That version is not kept.
        """
        if version is None:
            return self._versions.newest, self._versions.version
        return self._versions.get(version), version
