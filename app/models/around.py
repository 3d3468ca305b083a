"""A model around another one: whoever changes one answer passes on the others."""

from typing import Any

from app.models.model import Model, Output
from app.types import Version


class ModelAround:
    """Passes on everything but decisions, which those who derive from it make."""

    def __init__(self, model: Model) -> None:
        self.spec = model.spec
        self._model = model

    async def forward(self, observation: Any, state: Any = None, version: Version | None = None) -> Output:
        """Returns what the network answers; see ``Model``."""
        return await self._model.forward(observation, state, version)

    async def ensure(self, version: Version | None) -> Version:
        """Makes a version answerable until it is released, and returns it; see ``Model``."""
        return await self._model.ensure(version)

    def release(self, version: Version) -> None:
        """Lets a version go that ``ensure`` returned."""
        self._model.release(version)
