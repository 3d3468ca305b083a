"""``sparring try agent``: an agent plays sessions in this process."""

import asyncio
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np

from app.agents.game_log import Played
from app.agents.unroll import Row
from app.config.root import ExperimentConfig
from app.config.serving import AgentConfig
from app.errors import SparringError
from app.models.module import build_module
from app.models.spec import ModelSpec
from app.models.torch_engine import TorchEngine
from train.trying.inputs import made_up, recorded
from train.trying.playing import Player, Tried
from train.trying.report import Report, told
from train.trying.threads import one_thread
from train.trying.wanted import TRIED, found, is_path, with_model

SHOWN: Final = 200
"""Characters of an answer."""
STOP: Final = b'{"reward": 0, "terminated": true}'


@one_thread()
def try_agent(
    config: ExperimentConfig,
    name: str,
    model: str | None = None,
    games: int = 4,
    ticks: int = 64,
    source: Path | None = None,
) -> Report:
    """Returns what an agent answers, and how fast.

    Args:
      config: With the agent.
      name: Of it, or an import path of its class.
      model: Whom it asks, or whose observations it is shown where it asks none; None: its own, or the only one.
      games: Made-up sessions.
      ticks: Of each.
      source: Recording or lines to play in their place; None makes them up.

    Raises:
      ConfigError: There is no such agent or model.
    """
    config, key = with_agent(config, name, model)
    try:
        tried, _ = played(config, key, model, games, ticks, source)
    except Exception as error:  # noqa: BLE001  # The user's classes may raise anything.
        return Report(f"agent {name}", {}, (str(error) if isinstance(error, SparringError) else told(error),))
    answers = [body.decode(errors="replace")[:SHOWN] for body in tried.answers]
    facts: dict[str, object] = {
        "sessions": len(tried.played),
        "ticks": len(tried.ticks_ms),
        "ticks_per_s": round(len(tried.ticks_ms) / tried.seconds, 1),
        "decisions": len(_decided(tried.played)),
        "rows": len(_rows(tried.played)),
        "first_answer": answers[0] if answers else None,
        **{f"tick_ms_p{share}": _percentile(tried.ticks_ms, share) for share in (50, 99)},
    }
    return Report(f"agent {name}", facts, tuple(_problems(tried)))


def with_agent(config: ExperimentConfig, name: str, model: str | None) -> tuple[ExperimentConfig, str]:
    """Returns a config that has an agent, and the agent's name there."""
    if not is_path(name):
        found("agent", config.agents, name)
        return config, name
    used = None
    if model is not None:
        config, used = with_model(config, model)
    agent = AgentConfig(factory=name, model=used)
    return config.model_copy(update={"agents": {**config.agents, TRIED: agent}}), TRIED


def played(
    config: ExperimentConfig, key: str, model: str | None, games: int, ticks: int, source: Path | None
) -> tuple[Tried, ModelSpec | None]:
    """Returns what an agent of a config has played, and the shapes of its model.

    Raises:
      SparringError: Agent, model or input cannot be had.
    """
    agent, seed = config.agents[key], config.run.seed
    shown: str | None = agent.model
    if shown is None and (model is not None or config.models):
        config, shown = with_model(config, model or next(iter(config.models)))
    elif model is not None:
        config, shown = with_model(config, model)
    engine = None
    if shown is not None:
        engine = TorchEngine(build_module(config.models[shown].factory, config.models[shown].kwargs, seed))
    spec = None if engine is None else engine.spec
    player = Player(key, agent, None if agent.model is None else engine, seed)
    bodies = list(recorded(source)) if source is not None else made_up(player.kind, spec, games, ticks, seed)
    is_json = getattr(player.kind, "codec", "json") == "json"
    tried = asyncio.run(player.play(bodies, STOP if is_json else b""))
    return tried, spec if agent.model is not None else None


def _problems(tried: Tried) -> Iterator[str]:
    yield from (f"{count} times {message}" for message, count in tried.errors.items())
    bad = sum(not _is_finite(row) for row in _decided(tried.played))
    if bad:
        yield f"{bad} decisions with a value or log-probability that is not finite"
    if not tried.ticks_ms:
        yield "no tick was answered"


def _decided(games: list[Played]) -> list[Row]:
    return [entry.decided for game in games for entry in game.entries if entry.decided is not None]


def _rows(games: list[Played]) -> list[Row]:
    return [row for game in games for entry in game.entries for row in entry.rows]


def _is_finite(row: Row) -> bool:
    return math.isfinite(row.log_prob) and bool(np.isfinite(row.value).all())


def _percentile(values: list[float], share: float) -> float | None:
    return round(float(np.percentile(values, share)), 3) if values else None
