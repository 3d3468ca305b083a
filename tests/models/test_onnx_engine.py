import asyncio
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from app.errors import ExportError, ModelMismatchError
from app.models.distributions.action import log_prob_and_entropy
from app.models.engine import Engine
from app.models.export.compare import check_graph
from app.models.export.graph import Graph, export_graph
from app.models.export.precision import with_weights
from app.models.export.samples import Samples, random_samples
from app.models.module import call, to_arrays
from app.models.onnx_engine import OnnxEngine
from app.models.placement import LocalModel
from app.models.question import GREEDY, Question, first_state
from app.models.torch_engine import TorchEngine
from app.types import UNTRAINED, Arrays, Version
from tests.models.export.networks import (
    CountingPolicy,
    Estimator,
    FrozenPolicy,
    HiddenPolicy,
    NestedPolicy,
    NormPolicy,
    seeded,
)

pytestmark = pytest.mark.export


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("graphs")


def same(mine: Engine, theirs: Engine, asked: Samples, version: Version | None = None) -> None:
    got = mine.forward(asked.inputs, asked.states, version)
    wanted = theirs.forward(asked.inputs, asked.states, None)
    for ours, other in zip((*got.outputs, *got.states), (*wanted.outputs, *wanted.states), strict=True):
        np.testing.assert_allclose(ours, other, rtol=1e-4, atol=1e-5)
        assert ours.dtype == other.dtype


@pytest.mark.parametrize("network", [NestedPolicy, NormPolicy, Estimator])
def test_it_answers_as_torch_does_at_any_size_with_random_states(graphs: Path, network: type[nn.Module]) -> None:
    engine = OnnxEngine(seeded(network), graphs)
    for rows in (1, 2, 7, 64):
        same(engine, TorchEngine(seeded(network)), random_samples(engine.spec, rows, rows))
    assert engine.version == UNTRAINED


def test_the_normaliser_and_evaluation_mode_are_those_of_the_trainer(graphs: Path) -> None:
    module = seeded(NormPolicy).train()
    for _ in range(20):  # The statistics of what it has seen: a mean of 5.
        module(torch.randn(64, 3) + 5)
    engine = OnnxEngine(module, graphs)
    asked = np.full((4, 3), 5, np.float32)
    with torch.no_grad():
        wanted = module.eval()(torch.from_numpy(asked)).dist_inputs.numpy()
    np.testing.assert_allclose(engine.forward([asked]).outputs[0], wanted, atol=1e-5)


def test_new_weights_need_no_new_graph_and_pinned_ones_stay(graphs: Path) -> None:
    engine = OnnxEngine(seeded(NestedPolicy), graphs)
    files = {path: path.stat().st_mtime_ns for path in graphs.iterdir()}
    asked = random_samples(engine.spec, 5, 1)
    engine.load(Version(1, 1), to_arrays(seeded(NestedPolicy, 1)))
    engine.pin(Version(1, 1))
    engine.load(Version(1, 2), to_arrays(seeded(NestedPolicy, 2)))
    engine.pin(Version(1, 7), to_arrays(seeded(NestedPolicy, 7)))
    for seed, version in ((2, None), (1, Version(1, 1)), (7, Version(1, 7))):
        same(engine, TorchEngine(seeded(NestedPolicy, seed)), asked, version)
    assert engine.version == Version(1, 2)
    assert {path: path.stat().st_mtime_ns for path in graphs.iterdir()} == files


def test_weights_may_be_read_only_and_may_go_away(graphs: Path) -> None:
    engine = OnnxEngine(seeded(NormPolicy), graphs)
    arrays = to_arrays(seeded(NormPolicy, 3))
    for array in arrays.values():
        array.flags.writeable = False  # As those out of the object store are.
    engine.load(Version(1, 1), arrays)
    arrays.clear()
    same(engine, TorchEngine(seeded(NormPolicy, 3)), random_samples(engine.spec, 3, 0))


async def test_a_version_is_built_in_a_thread_while_the_old_one_answers(graphs: Path) -> None:
    engine = OnnxEngine(seeded(NestedPolicy), graphs)
    asked = random_samples(engine.spec, 2, 0)
    built = await asyncio.to_thread(engine.build, to_arrays(seeded(NestedPolicy, 4)))
    same(engine, TorchEngine(seeded(NestedPolicy)), asked)
    engine.swap(Version(3, 1), built)
    same(engine, TorchEngine(seeded(NestedPolicy, 4)), asked)
    assert engine.version == Version(3, 1)


def test_weights_that_do_not_fit_leave_all_as_it_was(graphs: Path) -> None:
    engine = OnnxEngine(seeded(NormPolicy), graphs)
    arrays = to_arrays(seeded(NormPolicy, 1)) | {"head.bias": np.zeros(9, np.float32)}
    with pytest.raises(ModelMismatchError, match=r"do not fit the model NormPolicy: head\.bias$"):
        engine.load(Version(1, 1), arrays)
    assert engine.version == UNTRAINED
    same(engine, TorchEngine(seeded(NormPolicy)), random_samples(engine.spec, 2, 0))


def test_a_version_that_is_not_kept_is_named(graphs: Path) -> None:
    engine = OnnxEngine(seeded(NormPolicy), graphs)
    assert not engine.has(Version(1, 9))
    with pytest.raises(KeyError, match=r"number=9|1\.9"):
        engine.forward([np.zeros((1, 3), np.float32)], [], Version(1, 9))


async def nothing(version: Version) -> Arrays:
    raise ModelMismatchError(f"weights {version} are no longer kept")


async def test_games_carry_their_state_and_obey_their_masks(graphs: Path) -> None:
    models = [
        LocalModel(engine, nothing)
        for engine in (OnnxEngine(seeded(NestedPolicy), graphs), TorchEngine(seeded(NestedPolicy)))
    ]
    spec, rng = models[0].spec, np.random.default_rng(0)
    states = [first_state(spec), first_state(spec)]
    mask = {"move": np.array([False, False, True]), "skill": None}
    for tick in range(1, 6):
        asked = random_samples(spec, 1, tick)
        observation = spec.inputs.unflatten([leaf[0] for leaf in asked.inputs])
        uniforms = rng.random(2).tolist() if tick % 2 else GREEDY
        decided = [
            await model.decide(Question(observation, uniforms, mask, None, state))
            for model, state in zip(models, states, strict=True)
        ]
        assert decided[0].action == decided[1].action
        assert decided[0].action["move"] == 2
        assert decided[0].log_prob == pytest.approx(decided[1].log_prob, abs=1e-4)
        assert decided[0].value == pytest.approx(decided[1].value, abs=1e-4)
        states = [decision.state for decision in decided]
        assert states[0]["ticks"] == tick
    ended = await models[0].decide(Question(observation, GREEDY, None, None, None))
    assert ended.state["ticks"] == 1  # A game that begins has no state of another.


def test_a_frozen_batch_axis_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        ExportError, match=r"FrozenPolicy has observation with a batch axis of exactly 2; it must be free"
    ):
        OnnxEngine(seeded(FrozenPolicy), tmp_path)


def test_a_size_that_is_read_while_the_graph_is_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"CountingPolicy .*batch"):
        OnnxEngine(seeded(CountingPolicy), tmp_path)


def test_weights_that_new_ones_do_not_reach_are_found() -> None:
    module = seeded(Estimator)
    graph = export_graph(module)
    check_graph(module, graph)
    baked = Graph(with_weights(graph, to_arrays(module)).SerializeToString(), ())
    with pytest.raises(ExportError, match=r"graph of Estimator answers a batch of 1 with an error of"):
        check_graph(module, baked)


def test_weights_that_torch_takes_for_constants_are_weights_all_the_same(graphs: Path) -> None:
    engine = OnnxEngine(seeded(HiddenPolicy), graphs)
    engine.load(Version(1, 1), to_arrays(seeded(HiddenPolicy, 1)))
    same(engine, TorchEngine(seeded(HiddenPolicy, 1)), random_samples(engine.spec, 3, 0))


def test_a_damaged_or_foreign_graph_on_disk_is_written_anew(tmp_path: Path) -> None:
    engine = OnnxEngine(seeded(Estimator), tmp_path)
    (path,) = tmp_path.iterdir()
    good = path.read_bytes()
    for bad in (good[: len(good) // 2], good.replace(b"ReduceMean", b"ReduceSum_")):
        path.write_bytes(bad)
        again = OnnxEngine(seeded(Estimator), tmp_path)
        same(again, engine, random_samples(engine.spec, 3, 0))
        assert path.read_bytes() != bad


async def test_what_the_learner_recomputes_is_what_the_actor_stored(graphs: Path) -> None:
    engine = OnnxEngine(seeded(NestedPolicy), graphs)
    module = seeded(NestedPolicy, 6)
    engine.load(Version(1, 3), to_arrays(module))
    model = LocalModel(engine, nothing)
    spec, asked = engine.spec, random_samples(engine.spec, 1, 3)
    observation = spec.inputs.unflatten([leaf[0] for leaf in asked.inputs])
    mask = {"move": np.array([True, False, True]), "skill": np.array([False, True])}
    decided = await model.decide(Question(observation, [0.7, 0.2], mask, None, first_state(spec)))
    states = [torch.zeros(1, *leaf.shape) for leaf in spec.states.leaves]
    with torch.no_grad():
        (*inputs, value), _ = call(module, spec, [torch.from_numpy(leaf) for leaf in asked.inputs], states)
    taken = [torch.tensor([decided.action["move"]]), torch.tensor([decided.action["skill"]])]
    masks = [torch.from_numpy(mask["move"])[None], torch.from_numpy(mask["skill"])[None]]
    log_prob, _ = log_prob_and_entropy(spec.actions, inputs, taken, masks)
    assert decided.version == Version(1, 3)
    assert decided.log_prob == pytest.approx(log_prob.item(), abs=1e-5)
    assert decided.value == pytest.approx(value.item(), abs=1e-5)
