"""The parts of a trial and how they are joined, as its config has them: what the console draws."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal

from app.config.buffers import BufferConfig
from app.config.league import LeagueConfig
from app.config.models import ModelConfig
from app.config.root import ExperimentConfig
from app.config.serving import ActorConfig, AgentConfig
from app.config.training import TrainerConfig, TrainInput

Kind = Literal["cores", "actor", "agent", "model", "buffer", "source", "trainer", "weights", "registry", "league"]

CORES: Final = "cores"
WEIGHTS: Final = "weights"
REGISTRY: Final = "registry"
LEAGUE: Final = "league"
"""Parts of which there is one at most: their ids are their kinds."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the trial."""

    id: str
    """``kind:name``, or the kind alone where there is one at most."""
    kind: Kind
    name: str
    facts: dict[str, str] = field(default_factory=dict)
    """What the config says of it, by what it is called."""


@dataclass(frozen=True, slots=True)
class Link:
    """What goes from one part to another."""

    source: str
    """Id of a part."""
    target: str
    """Id of a part."""
    meaning: str


def ring_of(config: ExperimentConfig) -> dict[str, Any]:
    """Returns the parts and links of a trial as a JSON object.

    Args:
      config: With the components of its mode alone.
    """
    run = config.run
    return {
        "project": run.project,
        "trial": run.trial,
        "mode": run.mode,
        "parts": [asdict(part) for part in _parts(config)],
        "links": [asdict(link) for link in dict.fromkeys(_links(config))],
    }


def _parts(config: ExperimentConfig) -> Iterator[Part]:
    yield Part(CORES, "cores", "game cores")
    for name, actor in config.actors.items():
        yield Part(f"actor:{name}", "actor", name, _actor_facts(actor))
    for name, agent in config.agents.items():
        yield Part(f"agent:{name}", "agent", name, _agent_facts(agent))
    for name, model in config.models.items():
        yield Part(f"model:{name}", "model", name, {"engine": model.engine, "placement": model.placement})
    yield from _learning_parts(config)
    if any(_is_registered(model) for model in config.models.values()):
        yield Part(REGISTRY, "registry", "model registry")
    if config.league is not None:
        yield Part(LEAGUE, "league", "league", {"players": ", ".join(config.league.players)})


def _learning_parts(config: ExperimentConfig) -> Iterator[Part]:
    for name, buffer in config.buffers.items():
        yield Part(f"buffer:{name}", "buffer", name, _buffer_facts(buffer))
    for name in config.sources:
        yield Part(f"source:{name}", "source", name)
    for name, trainer in config.trainers.items():
        yield Part(f"trainer:{name}", "trainer", name, _trainer_facts(trainer))
    if config.trainers:
        yield Part(WEIGHTS, "weights", "weight store")


def _links(config: ExperimentConfig) -> Iterator[Link]:
    for name, actor in config.actors.items():
        yield Link(CORES, f"actor:{name}", "steps")
        yield from (Link(f"actor:{name}", f"agent:{agent}", "ticks") for agent in actor.agents)
    for name, agent_config in config.agents.items():
        if agent_config.model is not None:
            yield Link(f"agent:{name}", f"model:{agent_config.model}", "asks")
        if agent_config.buffer is not None:
            yield Link(f"agent:{name}", f"buffer:{agent_config.buffer}", "rows")
    for name, trainer in config.trainers.items():
        yield from (Link(_origin(one), f"trainer:{name}", "batches") for one in trainer.inputs)
        yield Link(f"trainer:{name}", WEIGHTS, "publishes")
        yield Link(WEIGHTS, f"model:{trainer.model}", "weights")
    registered = (name for name, model in config.models.items() if _is_registered(model))
    yield from (Link(REGISTRY, f"model:{name}", "versions") for name in registered)
    if config.league is not None:
        yield from _league_links(config, config.league)


def _league_links(config: ExperimentConfig, league: LeagueConfig) -> Iterator[Link]:
    yield from (Link(LEAGUE, f"actor:{name}", "matches") for name in config.actors)
    yield from (Link(f"trainer:{player.trainer}", LEAGUE, "freezes") for player in league.players.values())


def _is_registered(model: ModelConfig) -> bool:
    return model.checkpoint is not None and model.checkpoint.startswith("models:/")


def _origin(one: TrainInput) -> str:
    return f"source:{one.source}" if one.buffer is None else f"buffer:{one.buffer}"


def _actor_facts(actor: ActorConfig) -> dict[str, str]:
    most = str(actor.replicas)
    if actor.autoscaling is not None:
        most = f"{actor.autoscaling.min_replicas} to {actor.autoscaling.max_replicas}"
    return {"replicas": most, "port": str(actor.port or "a free one")}


def _agent_facts(agent: AgentConfig) -> dict[str, str]:
    recorded: dict[str, str] = {}
    if agent.record is not None:
        every = agent.record.every
        recorded = {"records": "games that are asked for" if every is None else f"every {every}. game"}
    return {"class": agent.factory, "role": agent.role} | recorded


def _buffer_facts(buffer: BufferConfig) -> dict[str, str]:
    kind = "each row once" if buffer.table is None else "replay table"
    return {"kind": kind, "shards": str(buffer.shards), "when full": buffer.when_full.replace("_", " ")}


def _trainer_facts(trainer: TrainerConfig) -> dict[str, str]:
    algorithms = dict.fromkeys(one.algorithm.kind for one in trainer.inputs)
    rows = dict.fromkeys(str(one.batch_rows) for one in trainer.inputs)
    workers = trainer.workers if isinstance(trainer.workers, int) else f"{trainer.workers.min} to {trainer.workers.max}"
    return {
        "model": trainer.model,
        "algorithm": ", ".join(algorithms),
        "batch": f"{', '.join(rows)} rows",
        "workers": str(workers),
    }
