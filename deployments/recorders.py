"""The recorders of the agents of one replica."""

import asyncio
import logging
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from app.agents.recording import is_recorded
from app.config.serving import AgentConfig
from app.models.spec import ModelSpec
from app.types import Purpose
from deployments.recorder import Recorder

CLOSE_S: Final = 5.0
"""Longest wait for the last files."""

_log = logging.getLogger(__name__)


class Recorders:
    """One recorder for each agent whose config says so."""

    def __init__(
        self,
        trial_folder: Path,
        agents: Mapping[str, AgentConfig],
        specs: Mapping[str, ModelSpec],
        counts: Counter[str],
    ) -> None:
        """Starts them.

        Args:
          trial_folder: Their folders lie below it.
          agents: Configs by name.
          specs: Of the agents' models, by agent.
          counts: The replica's.
        """
        self._configs = {name: agent.record for name, agent in agents.items() if agent.record is not None}
        self._recorders = {
            name: Recorder(trial_folder / config.folder, name, specs[name], config, counts)
            for name, config in self._configs.items()
        }

    def of(self, agent: str, game: str, purpose: Purpose) -> Recorder | None:
        """Returns what records an agent's session of a game; None where it is not recorded."""
        config = self._configs.get(agent)
        if config is None or purpose not in config.purposes or not is_recorded(game, config.every):
            return None
        return self._recorders[agent]

    async def close(self) -> None:
        """Writes what waits and ends."""
        closing = [asyncio.to_thread(recorder.close, CLOSE_S) for recorder in self._recorders.values()]
        if not all(await asyncio.gather(*closing)):
            _log.warning("recordings were not written within %g s; the rest of them is lost", CLOSE_S)
