"""Recorded sessions against another model: what ``sparring replay --against`` does."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from app.config.root import ExperimentConfig
from app.errors import ConfigError
from app.plugins import load_plugin
from app.recordings.reading import Episode
from app.resimulation.again import MakeAgent, play_again
from app.resimulation.comparison import Comparison, compare
from app.stores.other_model import other_model

if TYPE_CHECKING:
    from app.agents.agent import Agent


def resimulate(config: ExperimentConfig, episodes: Sequence[Episode], against: str) -> list[Comparison]:
    """Returns where another model would act differently in recorded sessions of one agent.

    Args:
      config: With the agent that played, and its model.
      episodes: The sessions, from their starts on.
      against: The other model; see ``other_model``.

    Raises:
      ConfigError: The config has no such agent, or it blocks or asks no model.
      RecordingError: A session is not recorded from its start, or without what came.
      SparringError: The other model cannot be had.
    """
    if not episodes:
        return []
    name = episodes[0].agent
    make, model_name = _agent(config, name)
    model = other_model(config, model_name, against)

    async def all_again() -> list[Comparison]:
        found = []
        for episode in episodes:
            played = await play_again(episode, make, model)
            found.append(compare(episode, against, played, model.spec))
        return found

    return asyncio.run(all_again())


def _agent(config: ExperimentConfig, name: str) -> tuple[MakeAgent, str]:
    """Returns what makes an agent, and the model that it asks."""
    agent = config.agents.get(name)
    if agent is None:
        raise ConfigError(
            f"the recording is of agent {name!r}; the config has {', '.join(config.agents) or 'none'}: give the one "
            "that the games were played with"
        )
    if agent.blocking or agent.model is None:
        got = "blocks" if agent.blocking else "asks no model"
        raise ConfigError(f"agents.{name} {got}; allowed is an agent on the event loop with a model")
    factory = cast("type[Agent]", load_plugin(agent.factory))
    return (lambda context: factory(context, **agent.kwargs)), agent.model
