"""The recorders of the agents of one replica, and which of its games they get."""

import asyncio
import logging
import os
import secrets
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final
from weakref import WeakValueDictionary

import orjson

from app.agents.game_log import About, GameLog, Memory
from app.agents.recording import is_recorded
from app.config.recording import PrivacyConfig, RecordConfig
from app.config.serving import AgentConfig
from app.errors import BadRequestError, ConfigError, SessionUnknownError
from app.models.spec import ModelSpec
from app.recordings.privacy import Privacy
from app.seeding import Draws
from app.types import Rows, SessionId
from app.wire.payload import Codec, bare_codec
from deployments.recorder import Recorder

CLOSE_S: Final = 5.0
"""Longest wait for the last files."""
GAMES_ASKED_MAX: Final = 10_000
"""Most games that an operator may ask for at a time."""
KEY_BYTES: Final = 32
NO_LOOKS: Final[Mapping[str, Callable[[Rows], None]]] = MappingProxyType({})
EVERY: Final = "every"
ASKED: Final = "asked"

_log = logging.getLogger(__name__)


class Recorders:
    """One recorder for each agent whose config says so."""

    def __init__(
        self,
        trial_folder: Path,
        agents: Mapping[str, AgentConfig],
        specs: Mapping[str, ModelSpec],
        counts: Counter[str],
        classes: Mapping[str, type[object]],
        looks: Mapping[str, Callable[[Rows], None]] = NO_LOOKS,
    ) -> None:
        """Starts them.

        Args:
          trial_folder: Their folders lie below it.
          agents: Configs by name.
          specs: Of the agents' models, by agent; none for one that asks no model.
          counts: The replica's.
          classes: Of the agents, which say what their bodies are.
          looks: What looks at the rows of recorded games, by agent.

        Raises:
          ConfigError: The key of the hashes is not there.
        """
        self._configs = {name: agent.record for name, agent in agents.items() if agent.record is not None}
        self._memory = {name: Memory(config.keep_mb) for name, config in self._configs.items()}
        self._counts = counts
        self._logs: dict[str, WeakValueDictionary[SessionId, GameLog]] = {
            name: WeakValueDictionary() for name in self._configs
        }
        self._next: dict[str, int] = {}
        """Games that are still to be recorded because an operator asked, by agent."""
        self._next_games: dict[str, set[str]] = {name: set() for name in self._configs}
        self._recorders = {
            name: Recorder(
                trial_folder / config.folder,
                name,
                specs.get(name),
                config,
                counts,
                privacy_of(config.private, bare_codec(classes[name])),
                {"codec": _codec(classes[name]), "renders": orjson.dumps(agents[name].renders).decode()},
                looks.get(name),
            )
            for name, config in self._configs.items()
        }

    def log(self, about: About, rng: Draws) -> GameLog | None:
        """Returns where a session's steps are noted; None where its agent records none."""
        config = self._configs.get(about.agent)
        if config is None or about.purpose not in config.purposes:
            return None
        memory = self._memory[about.agent]
        log = GameLog(
            about,
            rng,
            self._recorders[about.agent].add,
            part_ticks=config.part_ticks,
            keep_ticks=config.keep_ticks,
            memory=memory,
        )
        if (why := self._why(about, config)) is not None:
            log.keep(why)
        self._logs[about.agent][about.session] = log
        return log

    def payloads(self, agent: str) -> bool:
        """Returns whether an agent's bodies are recorded."""
        return self._configs[agent].payloads

    def keep(self, session: SessionId, why: str) -> bool:
        """Has an open session written at its end, with the last ticks that are held; returns whether it can be.

        This is what an alarm calls: it takes microseconds and waits for nothing.

        Args:
          session: Its id.
          why: What the recording is to say of its reason.
        """
        found = [log for logs in self._logs.values() if (log := logs.get(session)) is not None]
        for log in found:
            if log.why is None:
                log.keep(why)
                self._counts["recordings_asked"] += 1
        return bool(found)

    def ask_session(self, session: SessionId) -> None:
        """Records an open session from now on.

        Raises:
          SessionUnknownError: It is not open here, or its agent records none.
        """
        if not self.keep(session, ASKED):
            raise SessionUnknownError(
                f"no agent with a record config plays session {session[:200]!r} here; recorded are the open sessions "
                f"of {', '.join(self._configs) or 'no agent'}"
            )

    def ask_games(self, agent: str, count: int) -> None:
        """Records the next games of an agent that begin on this replica.

        Raises:
          BadRequestError: The agent records none, or the number cannot be.
        """
        if agent not in self._configs:
            recorded = ", ".join(self._configs) or "none"
            raise BadRequestError(f"agent is {agent[:200]!r}; with a record config there are {recorded}")
        if not 1 <= count <= GAMES_ASKED_MAX:
            raise BadRequestError(f"games is {count}; allowed is 1 to {GAMES_ASKED_MAX}")
        self._next[agent] = count
        self._next_games[agent].clear()

    async def close(self) -> None:
        """Writes what waits and ends."""
        closing = [asyncio.to_thread(recorder.close, CLOSE_S) for recorder in self._recorders.values()]
        if not all(await asyncio.gather(*closing)):
            _log.warning("recordings were not written within %g s; the rest of them is lost", CLOSE_S)

    def _why(self, about: About, config: RecordConfig) -> str | None:
        """Returns what a session that begins is recorded for; None: for nothing yet."""
        if config.every is not None and is_recorded(about.game, config.every):
            return EVERY
        asked = self._next_games[about.agent]
        if about.game in asked:
            return ASKED
        if self._next.get(about.agent, 0) > len(asked):
            asked.add(about.game)
            return ASKED
        return None


def privacy_of(config: PrivacyConfig, codec: Codec) -> Privacy:
    """Returns the filter of a config.

    Raises:
      ConfigError: The environment holds no key of the name that the config tells.
    """
    key = secrets.token_bytes(KEY_BYTES)
    if config.key_env is not None:
        if not os.environ.get(config.key_env):
            raise ConfigError(
                f"record.private.key_env names {config.key_env}, and that environment variable is empty; needed is "
                "the key of the hashes"
            )
        key = os.environ[config.key_env].encode()
    return Privacy(config.remove, config.hash, key, codec)


def _codec(agent_class: type[object]) -> str:
    return str(getattr(agent_class, "codec", "json"))
