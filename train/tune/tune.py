"""Sweeps the sizes of batches of a model of a config."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch

from app.config.models import ModelConfig
from app.config.root import ExperimentConfig
from app.errors import ConfigError, SparringError
from app.models.engine import Engine
from app.models.module import build_module
from app.models.question import Leaves
from app.models.spec import ModelSpec
from app.models.torch_engine import TorchEngine
from train.bench.asking import observations_of
from train.tune.sweep import Size, best, measure, sizes_up_to


class TuneError(SparringError):
    """No size of batch does what is wanted."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured, and what is wanted."""

    model: str
    latency_ms: float
    max_rows: int
    seconds: float
    """Length of each window."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A model as it could be served: each precision that it exists in is one."""

    precision: str
    engine: Engine


def tune(config: ExperimentConfig, plan: Plan, say: Callable[[str], None]) -> dict[str, object]:
    """Returns what each size came to, and the one with the largest throughput within the wanted latency.

    Args:
      config: Names the model; its weights are drawn, since they do not change how fast it is.
      plan: What is measured.
      say: Told what is measured next.

    Raises:
      ConfigError: The config has no such model.
      TuneError: No size is fast enough.
    """
    if plan.model not in config.models:
        raise ConfigError(f"no model named {plan.model!r}; there are: {', '.join(config.models) or 'none'}")
    torch.set_num_threads(1)  # As in the replicas.
    sizes = [
        _size(candidate, rows, plan.seconds, say)
        for candidate in candidates(config.models[plan.model], config.run.seed)
        for rows in sizes_up_to(plan.max_rows)
    ]
    chosen = best(sizes, plan.latency_ms)
    if chosen is None:
        quickest = min(sizes, key=lambda size: size.p99_ms)
        raise TuneError(
            f"no batch of models.{plan.model} is answered within {plan.latency_ms:g} ms; the quickest is one of "
            f"{quickest.rows} at {quickest.precision}: {quickest.p99_ms:.3g} ms in 99 of 100 calls"
        )
    return {
        "tune": plan.model,
        "latency_ms": plan.latency_ms,
        "sizes": [size.as_dict() for size in sizes],
        "best": chosen.as_dict(),
        "measured": chosen.observations_per_s.measured,
        "set": f"models.{plan.model}.batching.max_rows={chosen.rows}",
    }


def candidates(model: ModelConfig, seed: int) -> Iterator[Candidate]:
    """Yields the precisions that a model can be served in: each further engine is one more."""
    device = "cuda" if model.num_gpus and torch.cuda.is_available() else "cpu"
    yield Candidate("float32", TorchEngine(build_module(model.factory, model.kwargs, seed), device))


def _size(candidate: Candidate, rows: int, seconds: float, say: Callable[[str], None]) -> Size:
    say(f"{candidate.precision}, batches of {rows}")
    forward = partial(candidate.engine.forward, *_batch(candidate.engine.spec, rows), None)
    return measure(candidate.precision, rows, forward, seconds, time.perf_counter)


def _batch(spec: ModelSpec, rows: int) -> tuple[Leaves, Leaves]:
    """Returns random observations, and the states in which games begin."""
    states: Leaves = [np.zeros((rows, *leaf.shape), leaf.dtype) for leaf in spec.states.leaves]
    return observations_of(spec, rows), states
