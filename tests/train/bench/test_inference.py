import asyncio

import numpy as np
import pytest

from app.errors import ModelMismatchError
from app.models.module import build_module, spec_of
from app.models.placement import LocalModel
from app.models.torch_engine import TorchEngine
from app.types import Arrays, Version
from train.bench.asking import Asked, ask, call, observations_of
from train.bench.inference import CNN, MLP


async def nothing_kept(version: Version) -> Arrays:
    raise ModelMismatchError(f"{version} is not kept")


@pytest.mark.parametrize("factory", [MLP, CNN])
def test_observations_are_random_and_fit_the_network(factory: str) -> None:
    engine = TorchEngine(build_module(factory, {}, 0))
    batch = observations_of(engine.spec, 3)
    answer = engine.forward(batch)
    assert answer.outputs[1].shape == (3,)
    assert len(np.unique(answer.outputs[1])) == 3
    again = observations_of(engine.spec, 3)
    assert all(np.array_equal(one, other) for one, other in zip(batch, again, strict=True))


def test_the_small_network_has_the_layers_that_its_figure_names() -> None:
    shapes = {name: tuple(x.shape) for name, x in build_module(MLP, {}, 0).named_parameters() if x.ndim == 2}
    assert list(shapes.values()) == [(64, 128), (64, 64), (16, 64), (1, 64)]
    assert spec_of(build_module(CNN, {}, 0)).inputs.leaves[0].shape == (4, 84, 84)


async def test_sessions_that_ask_at_the_same_time_share_batches() -> None:
    model = LocalModel(TorchEngine(build_module(MLP, {}, 0)), nothing_kept)
    asked = await asyncio.wait_for(ask(model, sessions=8, seconds=0.2), 10)
    assert asked.observations == len(asked.latencies_s)
    batches = model.queue.batches
    assert 8 * (batches - 1) < asked.observations <= 8 * batches  # In the last one some may find their time over.
    assert asked.cpu_s > 0
    assert max(asked.latencies_s) <= asked.seconds


def test_a_call_counts_all_its_rows() -> None:
    calls = []
    asked = call(lambda: calls.append(1), rows=5, seconds=0.01)
    assert asked.observations == 5 * len(calls)
    assert asked.seconds >= 0.01


def test_figures_are_for_one_observation() -> None:
    asked = Asked(observations=500, seconds=2.0, cpu_s=0.05)
    assert (asked.per_s, asked.cpu_us) == (250, pytest.approx(100))
