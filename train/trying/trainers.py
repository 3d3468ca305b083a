"""``sparring try trainer``: some updates of a trainer, from made-up games and from its sources."""

import time
from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np
import torch
from torch import nn

from app.config.algorithms import CustomAlgorithm
from app.config.buffers import BufferConfig
from app.config.from_trajectories import Online
from app.config.root import ExperimentConfig
from app.config.training import TrainerConfig, TrainInput
from app.errors import ConfigError, SparringError
from app.models.module import build_module, spec_of, to_arrays
from app.models.torch_engine import TorchEngine
from app.replay.supply import joined
from app.seeding import derive
from app.sources.batches import batches
from app.sources.opening import open_preprocess, open_reader
from app.stores.buffer_settings import buffer_settings
from app.stores.supplies import make_supply
from app.types import Rows
from train.adversaries import load_adversaries
from train.learners import Given, Learners
from train.learning import make_learners
from train.strategies.build import wrap
from train.strategies.strategy import Place
from train.trying.report import MS, Report, told
from train.trying.synthetic import games
from train.trying.threads import one_thread
from train.trying.wanted import TRIED, found, is_path, with_model

GAMES: Final = 16
"""Made-up games at a time."""
TICKS: Final = 16
PUSHES_MAX: Final = 4096
"""Pushes after which a buffer must hand out a batch; a million rows."""


@one_thread()
def try_trainer(config: ExperimentConfig, name: str, model: str | None = None, updates: int = 8) -> Report:
    """Returns what some updates measured, and how long they took.

    Rows of a buffer are made up, and come through the queue or table that the config describes; those of a source are
    its own. A teacher is left out.

    Args:
      config: With the trainer.
      name: Of it, or an import path of an algorithm.
      model: Whom an algorithm trains, or an import path; None: the config's only one.
      updates: How many.

    Raises:
      ConfigError: There is no such trainer or model.
    """
    config, key = _with_trainer(config, name, model)
    trainer = config.trainers[key]
    module: nn.Module | None = None
    try:
        module = build_module(
            config.models[trainer.model].factory, config.models[trainer.model].kwargs, config.run.seed
        )
        before = to_arrays(module)
        told_of, update_ms = _learned(config, trainer, module, updates)
    except Exception as error:  # noqa: BLE001  # The user's network and algorithm may raise anything.
        return Report(f"trainer {name}", {}, (str(error) if isinstance(error, SparringError) else told(error),))
    changed = [name for name, array in to_arrays(module).items() if not np.array_equal(array, before[name])]
    rows = sum(one.batch_rows for one in trainer.inputs) / len(trainer.inputs)
    facts: dict[str, object] = {
        "updates": updates,
        "update_ms": round(update_ms, 2),
        "rows_per_s": round(rows / update_ms * MS, 1),
        "changed_parameters": f"{len(changed)} of {len(before)}",
        **{f"inputs.{at}": metrics for at, metrics in told_of.items()},
    }
    return Report(f"trainer {name}", facts, tuple(_problems(told_of, changed)))


def _with_trainer(config: ExperimentConfig, name: str, model: str | None) -> tuple[ExperimentConfig, str]:
    """Returns a config that has the trainer, and its name there."""
    if not is_path(name):
        found("trainer", config.trainers, name)
        return config, name
    config, used = with_model(config, model)
    one = TrainInput(buffer=TRIED, algorithm=CustomAlgorithm(factory=name))
    added = {"buffers": {TRIED: BufferConfig()}, "trainers": {TRIED: TrainerConfig(model=used, inputs=(one,))}}
    return config.model_copy(update=added), TRIED


def _learned(
    config: ExperimentConfig, trainer: TrainerConfig, module: nn.Module, updates: int
) -> tuple[dict[int, Mapping[str, float]], float]:
    """Returns the newest metrics of each input, and how long an update takes, in ms."""
    spec = spec_of(module)
    if not spec.is_policy:
        raise ConfigError(f"models.{trainer.model} is no policy: no games can be made up for it")
    engine = TorchEngine(module)
    streams = [_batches(config, trainer, one, engine) for one in trainer.inputs]
    first = [next(stream) for stream in streams]  # As the network is before its first update.
    trained = wrap(trainer, module.train(), Place())
    alone = trainer.model_copy(update={"inputs": tuple(map(_without_teacher, trainer.inputs))})
    learners = make_learners(alone, trained, spec, adversaries=load_adversaries(config, trainer, spec))
    metrics: dict[int, Mapping[str, float]] = {}
    spent_s, turns = 0.0, _turns(trainer)
    for number in range(updates):
        asked = turns[number % len(turns)]
        rows = {at: first[at] if number < len(turns) else next(streams[at]) for at in asked}
        began_s = time.perf_counter()
        metrics |= _update(learners, rows, derive(config.run.seed, number))
        spent_s += time.perf_counter() - began_s
    return metrics, MS * spent_s / updates


def _update(learners: Learners, rows: Mapping[int, Rows], seed: int) -> dict[int, Mapping[str, float]]:
    given = [
        Given(at, {name: torch.from_numpy(np.ascontiguousarray(x)) for name, x in batch.items()}, _shuffle(seed))
        for at, batch in rows.items()
    ]
    learned = learners.update(given)
    return {at: {k: round(v, 6) for k, v in one.metrics.items()} for at, one in zip(rows, learned, strict=True)}


def _shuffle(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def _turns(trainer: TrainerConfig) -> list[tuple[int, ...]]:
    """Returns which inputs an update learns from, one update after another."""
    everything = tuple(range(len(trainer.inputs)))
    return [everything] if trainer.mixing.steps == "together" else [(at,) for at in everything]


def _without_teacher(one: TrainInput) -> TrainInput:
    if not isinstance(one.algorithm, Online) or one.algorithm.teacher is None:
        return one
    return one.model_copy(update={"algorithm": one.algorithm.model_copy(update={"teacher": None})})


def _batches(config: ExperimentConfig, trainer: TrainerConfig, one: TrainInput, engine: TorchEngine) -> Iterator[Rows]:
    """Yields batches of an input without an end."""
    if one.source is not None:
        preprocess = open_preprocess(config, one.source, engine.spec)
        while True:
            for batch in batches(open_reader(config, one.source, engine.spec), one.batch_rows):
                yield batch.rows if preprocess is None else preprocess(batch.rows)
    rng = np.random.default_rng(config.run.seed)
    supply = make_supply(engine.spec, buffer_settings(config, str(one.buffer)), 0)
    while True:
        for _ in range(PUSHES_MAX):
            if supply.batches(1):
                break
            supply.insert(games(engine, GAMES, TICKS, rng))
        parts = supply.draw()
        if parts is None:
            raise ConfigError(f"buffers.{one.buffer} hands out no batch after {PUSHES_MAX} pushes: see its limiter")
        yield joined(parts)


def _problems(metrics: Mapping[int, Mapping[str, float]], changed: list[str]) -> list[str]:
    figures = [(at, name, x) for at, one in metrics.items() for name, x in one.items()]
    bad = [f"{name} of inputs.{at} is {x}" for at, name, x in figures if not np.isfinite(x)]
    return bad if changed else [*bad, "no parameter has changed"]
