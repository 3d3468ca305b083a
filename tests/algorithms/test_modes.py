"""One loss on equal rows learns the same, whatever brought them: a queue, a table's sequences, or a file."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from app.algorithms.contract import Learned
from app.algorithms.estimators import Gae
from app.algorithms.imitation import Cloning
from app.algorithms.learner import PolicyLearner, PolicySettings
from app.algorithms.passes import SequenceSettings
from app.algorithms.ppo import ClippedPolicy
from app.algorithms.worth import PolicyLoss
from app.models.module import spec_of, to_arrays
from app.models.networks.normaliser import Normaliser
from app.models.networks.policy import build
from app.models.spec import ModelSpec
from app.models.torch_engine import TorchEngine
from app.replay.fifo import Fifo
from app.replay.limiters import Queue
from app.replay.removers import RemoveOldest
from app.replay.rows import empty_batch, row_dtypes
from app.replay.samplers import OldestFirst
from app.replay.sequences import Sequences
from app.replay.table import Table
from app.types import RowKind, Rows, Version
from tests.plain_stepper import plain_stepper

LOSSES: dict[str, PolicyLoss] = {"ppo": ClippedPolicy(0.2, 0.5, 0.01), "cloning": Cloning(0.5, 20.0, 0.5, 0.0)}
MEMORIES = {"without a state": None, "with a state": {"kind": "gru", "units": 4}}
STEPS = 5


def network(memory: dict[str, object] | None, *, normalise: bool = False) -> nn.Module:
    torch.manual_seed(0)
    encoder = {"kind": "mlp", "hidden": [4]}
    return build({"shape": [3]}, {"choices": 2}, encoder=encoder, memory=memory, head_gain=1.0, normalise=normalise)


def games(spec: ModelSpec, count: int) -> Rows:
    """Returns games of five ticks each."""
    rng = np.random.default_rng(0)
    rows = empty_batch(spec, count * (STEPS + 1))
    step = np.arange(len(rows["kind"])) % (STEPS + 1) < STEPS
    rows["kind"] = np.where(step, RowKind.STEP, RowKind.TERMINATED).astype(np.int8)
    rows["weight"] = step.astype(np.float32)
    rows["observation"] = rng.normal(size=(len(step), 3)).astype(np.float32)
    rows["action"] = rng.integers(0, 2, len(step))
    rows["reward"] = (rng.normal(size=len(step)) * step).astype(np.float32)
    rows["log_prob"] = np.full(len(step), -0.7, np.float32)
    rows["tick"] = (np.arange(len(step)) % (STEPS + 1)).astype(np.int32)
    for name in [name for name in rows if name.startswith("state")]:
        rows[name] = rng.normal(size=rows[name].shape).astype(np.float32)
    return rows


def from_queue(rows: Rows, spec: ModelSpec) -> Rows:
    fifo = Fifo(len(rows["kind"]), len(rows["kind"]))
    fifo.insert(rows)
    popped = fifo.pop(len(rows["kind"]))
    assert popped is not None
    return popped


def from_table(rows: Rows, spec: ModelSpec) -> Rows:
    cut = Sequences(STEPS + 2, 1, 0, burn_in_at_start=False)  # One row of padding each.
    table = Table(
        cut.columns(row_dtypes(spec)), 8, sampler=OldestFirst(), remover=RemoveOldest(), limiter=Queue(8),
        largest_sample_rows=8, rng=np.random.default_rng(0), max_reuse=1,
    )  # fmt: skip
    table.insert(cut.cut(rows))
    sample = table.sample(len(rows["kind"]) // (STEPS + 1))
    assert sample is not None
    return sample.rows


def from_file(rows: Rows, spec: ModelSpec) -> Rows:
    padding = empty_batch(spec, 7)
    return {name: np.concatenate([column, padding[name]]) for name, column in rows.items()}


def learned(module: nn.Module, rows: Rows, loss: PolicyLoss) -> Learned:
    stepper = plain_stepper(module, torch.optim.SGD(module.parameters(), 0.1), 1e9)
    settings = PolicySettings(Gae(0.9, 0.9), loss, True, 2, 1, SequenceSettings(16, 0))
    learner = PolicyLearner(module, spec_of(module), stepper, settings, 1, lambda x: x)
    batch: dict[str, Tensor] = {name: torch.from_numpy(np.ascontiguousarray(column)) for name, column in rows.items()}
    return learner.update(batch, torch.Generator().manual_seed(0))


@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("loss", LOSSES)
def test_equal_rows_teach_the_same_whatever_brought_them(memory: str, loss: str) -> None:
    results = []
    for bring in (from_queue, from_table, from_file):
        module = network(MEMORIES[memory])
        spec = spec_of(module)
        metrics = learned(module, bring(games(spec, 4), spec), LOSSES[loss]).metrics
        results.append((metrics, to_arrays(module)))
    (metrics, arrays), *others = results
    before = to_arrays(network(MEMORIES[memory]))
    assert any((before[name] != arrays[name]).any() for name in arrays)
    for other_metrics, other_arrays in others:
        assert other_metrics == pytest.approx(metrics, rel=1e-4, abs=1e-6)
        for name, array in arrays.items():
            np.testing.assert_allclose(other_arrays[name], array, rtol=1e-4, atol=1e-6)


def test_what_is_served_has_the_normaliser_of_the_trainer() -> None:
    module = network(None, normalise=True)
    rows = games(spec_of(module), 4)
    rows["observation"] = rows["observation"] * 50 + 300
    learned(module, rows, LOSSES["ppo"])
    normaliser = module.normaliser
    assert isinstance(normaliser, Normaliser)
    steps = rows["observation"][rows["kind"] == RowKind.STEP]
    np.testing.assert_allclose(normaliser.get_buffer("mean_0"), steps.mean(0), rtol=1e-4)
    served = TorchEngine(network(None, normalise=True))
    served.swap(Version(1, 0), served.build(to_arrays(module)))
    raw = rows["observation"][:9]
    with torch.no_grad():
        expected = module.eval()(torch.from_numpy(raw))
    logits, value = served.forward([raw]).outputs
    np.testing.assert_allclose(logits, expected.dist_inputs, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(value, expected.value, rtol=1e-5, atol=1e-6)
    fresh = TorchEngine(network(None, normalise=True)).forward([raw]).outputs[1]
    assert not np.allclose(fresh, value)
