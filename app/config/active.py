"""The part of a config that exists in its mode."""

from collections.abc import Mapping
from typing import TypeVar

from app.config.base import Component, Mode
from app.config.root import ExperimentConfig

_Part = TypeVar("_Part", bound=Component)


def active(config: ExperimentConfig) -> ExperimentConfig:
    """Returns the config without the components that do not exist in its mode; outside ``train`` no agent records."""
    mode = config.run.mode
    buffers = _existing(config.buffers, mode)
    agents = {
        name: agent if mode == "train" and agent.buffer in buffers else agent.model_copy(update={"buffer": None})
        for name, agent in _existing(config.agents, mode).items()
    }
    return config.model_copy(
        update={
            "models": _existing(config.models, mode),
            "agents": agents,
            "actors": _existing(config.actors, mode),
            "buffers": buffers,
            "sources": _existing(config.sources, mode),
            "trainers": _existing(config.trainers, mode),
            "league": None if config.league is None or not config.league.active_in(mode) else config.league,
        }
    )


def agents_of(config: ExperimentConfig, model: str) -> list[str]:
    """Returns the agents that ask a model."""
    return [name for name, agent in config.agents.items() if agent.model == model]


def _existing(components: Mapping[str, _Part], mode: Mode) -> dict[str, _Part]:
    return {name: component for name, component in components.items() if component.active_in(mode)}
