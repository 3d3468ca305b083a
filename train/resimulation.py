"""Recorded sessions against another model: what ``sparring replay --against`` does."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from app.config.root import ExperimentConfig
from app.errors import ConfigError
from app.models.spec import ModelSpec
from app.plugins import load_plugin
from app.recordings.reading import Episode
from app.resimulation.again import Again, MakeAgent, play_again
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
    spec, played = played_again(config, episodes, against)
    return [compare(episode, against, steps, spec) for episode, steps in zip(episodes, played, strict=True)]


def played_again(
    config: ExperimentConfig, episodes: Sequence[Episode], against: str
) -> tuple[ModelSpec, list[list[Again]]]:
    """Returns the other model's spec, and the steps of each session as they are answered with it.

    Args:
      config: As of ``resimulate``.
      episodes: At least one.
      against: The other model.

    Raises:
      SparringError: As ``resimulate``.
    """
    make, model_name = _agent(config, episodes[0].agent)
    model = other_model(config, model_name, against)

    async def all_again() -> list[list[Again]]:
        return [await play_again(episode, make, model) for episode in episodes]

    return model.spec, asyncio.run(all_again())


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
