"""``sparring try model``: a network is asked about random observations."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.config.root import ExperimentConfig
from app.models.engine import Answer
from app.models.module import build_module
from app.models.spec import ModelSpec
from app.models.torch_engine import TorchEngine
from train.trying.report import Report, per_s, told
from train.trying.synthetic import observations
from train.trying.threads import one_thread
from train.trying.wanted import with_model

BATCHES: Final = (1, 32, 256)
"""Observations that are asked about at a time."""
LARGE: Final = 1000.0
"""What observations are multiplied by to see whether a network stands it."""


@one_thread()
def try_model(config: ExperimentConfig, name: str, seconds: float = 0.2) -> Report:
    """Returns shapes, whether all answers are finite, and how fast they come.

    Args:
      config: With the model.
      name: Of it, or an import path of what builds it.
      seconds: How long each size of batch is timed.

    Raises:
      ConfigError: There is no such model.
    """
    config, key = with_model(config, name)
    what = f"model {name}"
    try:
        module = build_module(config.models[key].factory, config.models[key].kwargs, config.run.seed)
        engine = TorchEngine(module)
        answered = _answered(engine, config.run.seed)
    except Exception as error:  # noqa: BLE001  # The user's factory and network may raise anything.
        return Report(what, {}, (told(error),))
    facts: dict[str, object] = {
        "parameters": sum(x.numel() for x in module.parameters()),
        **{part: dict(leaves) for part, leaves in engine.spec.describe().items() if leaves},
        **{f"rows_per_s_{size}": _speed(engine, size, seconds) for size in BATCHES},
    }
    problems = [f"the answer to {case} is not finite" for case, answer in answered.items() if not _is_finite(answer)]
    return Report(what, facts, tuple(problems))


def _answered(engine: TorchEngine, seed: int) -> dict[str, Answer]:
    """Returns what is answered to observations that may be hard."""
    normal = observations(engine.spec, BATCHES[-1], np.random.default_rng(seed))
    zeros: list[NDArray[np.generic]] = [np.zeros_like(leaf) for leaf in normal]
    large = [np.multiply(leaf, LARGE, dtype=leaf.dtype) if leaf.dtype.kind == "f" else leaf for leaf in normal]
    cases = {"normal numbers": normal, "zeros": zeros, f"numbers around {LARGE:g}": large}
    return {case: engine.forward(inputs, _states(engine.spec, BATCHES[-1])) for case, inputs in cases.items()}


def _states(spec: ModelSpec, count: int) -> list[NDArray[np.generic]]:
    return [np.zeros((count, *leaf.shape), leaf.dtype) for leaf in spec.states.leaves]


def _speed(engine: TorchEngine, size: int, seconds: float) -> float:
    inputs = observations(engine.spec, size, np.random.default_rng(0))
    states = _states(engine.spec, size)
    return per_s(lambda: engine.forward(inputs, states), size, seconds)


def _is_finite(answer: Answer) -> bool:
    return all(bool(np.isfinite(leaf).all()) for leaf in (*answer.outputs, *answer.states) if leaf.dtype.kind == "f")
