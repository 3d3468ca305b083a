import copy

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from app.errors import ModelMismatchError
from app.models.module import PolicyOutput, to_arrays
from app.models.torch_engine import TorchEngine
from app.models.versions import Bound
from app.types import UNTRAINED, Arrays, Version
from tests.small_policy import discrete, small_policy

OBSERVATIONS = np.array([[1, 2], [-1, 0.5], [0, 0]], np.float32)


def weights(seed: int) -> Arrays:
    return to_arrays(small_policy(seed))


def logits_of(seed: int) -> np.ndarray:
    return TorchEngine(small_policy(seed)).forward([OBSERVATIONS]).outputs[0]


def test_an_answer_is_the_networks_own_with_its_version() -> None:
    module = small_policy(1)
    answer = TorchEngine(module).forward([OBSERVATIONS])
    expected = module(torch.from_numpy(OBSERVATIONS))
    np.testing.assert_allclose(answer.outputs[0], expected.dist_inputs.detach())
    np.testing.assert_allclose(answer.outputs[1], expected.value.detach())
    assert answer.outputs[0].shape == (3, 2)
    assert answer.outputs[1].shape == (3,)
    assert answer.version == UNTRAINED


def test_loaded_weights_answer_with_their_version() -> None:
    engine = TorchEngine(small_policy(1))
    engine.load(Version(2, 7), weights(2))
    answer = engine.forward([OBSERVATIONS])
    np.testing.assert_allclose(answer.outputs[0], logits_of(2))
    assert answer.version == Version(2, 7)


def test_weights_may_be_read_only() -> None:
    arrays = weights(2)
    for array in arrays.values():
        array.flags.writeable = False  # As those out of the object store are.
    engine = TorchEngine(small_policy(1))
    engine.load(Version(1, 1), arrays)
    np.testing.assert_allclose(engine.forward([OBSERVATIONS]).outputs[0], logits_of(2))


def wrong_shape(arrays: Arrays) -> Arrays:
    return arrays | {"critic.weight": np.zeros((1, 3), np.float32)}


def without_a_name(arrays: Arrays) -> Arrays:
    return {name: array for name, array in arrays.items() if name != "critic.bias"}


def with_another_name(arrays: Arrays) -> Arrays:
    return arrays | {"extra": np.zeros(1, np.float32)}


@pytest.mark.parametrize(
    ("spoil", "name"),
    [(wrong_shape, "critic.weight"), (without_a_name, "critic.bias"), (with_another_name, "extra")],
)
def test_weights_that_do_not_fit_leave_all_as_it_was(spoil: object, name: str) -> None:
    engine = TorchEngine(small_policy(1))
    before = engine.forward([OBSERVATIONS])
    with pytest.raises(ModelMismatchError, match=rf"do not fit the model SmallPolicy: {name}$"):
        engine.load(Version(1, 1), spoil(weights(2)))  # type: ignore[operator]
    after = engine.forward([OBSERVATIONS])
    assert after.version == UNTRAINED
    np.testing.assert_array_equal(after.outputs[0], before.outputs[0])
    np.testing.assert_array_equal(after.outputs[1], before.outputs[1])


def test_a_pinned_version_outlives_what_is_loaded_after_it() -> None:
    engine = TorchEngine(small_policy(1))
    engine.load(Version(1, 1), weights(2))
    engine.pin(Version(1, 1))
    engine.load(Version(1, 2), weights(3))
    old, new = engine.forward([OBSERVATIONS], [], Version(1, 1)), engine.forward([OBSERVATIONS])
    np.testing.assert_allclose(old.outputs[0], logits_of(2))
    np.testing.assert_allclose(new.outputs[0], logits_of(3))
    assert (old.version, new.version) == (Version(1, 1), Version(1, 2))


def test_a_version_can_be_pinned_from_its_weights() -> None:
    engine = TorchEngine(small_policy(1))
    engine.pin(Version(1, 5), weights(5))
    assert engine.has(Version(1, 5))
    np.testing.assert_allclose(engine.forward([OBSERVATIONS], [], Version(1, 5)).outputs[0], logits_of(5))
    np.testing.assert_allclose(engine.forward([OBSERVATIONS]).outputs[0], logits_of(1))


def test_a_version_that_is_not_pinned_is_named() -> None:
    with pytest.raises(KeyError, match=r"1\.9"):
        TorchEngine(small_policy()).forward([OBSERVATIONS], [], Version(1, 9))


def pinned(engine: TorchEngine) -> list[int]:
    return [number for number in range(100) if engine.has(Version(1, number))]


def test_the_least_recently_used_version_leaves_first() -> None:
    engine = TorchEngine(small_policy(), bound=Bound(versions=3))
    for number in range(3):
        engine.pin(Version(1, number))
    engine.forward([OBSERVATIONS], version=Version(1, 0))
    engine.pin(Version(1, 90))
    assert pinned(engine) == [0, 2, 90]


def test_a_version_that_is_held_stays_however_many_follow() -> None:
    engine = TorchEngine(small_policy(), bound=Bound(versions=3))
    engine.pin(Version(1, 0), weights(7))
    engine.hold(Version(1, 0))
    for number in range(1, 9):
        engine.pin(Version(1, number))
    assert pinned(engine) == [0, 7, 8]
    np.testing.assert_allclose(engine.forward([OBSERVATIONS], version=Version(1, 0)).outputs[0], logits_of(7))


def test_the_weights_are_the_given_memory_and_not_a_copy_of_it() -> None:
    arrays = weights(2)
    engine = TorchEngine(small_policy(1))
    engine.load(Version(1, 1), arrays)
    for array in arrays.values():
        array[...] = weights(3)[next(name for name, given in arrays.items() if given is array)]
    np.testing.assert_allclose(engine.forward([OBSERVATIONS]).outputs[0], logits_of(3))


def content(engine: TorchEngine, version: Version) -> bytes:
    return engine.forward([OBSERVATIONS], version=version).outputs[0].tobytes()


def test_a_frozen_version_stays_bit_equal_while_its_parent_learns_on() -> None:
    learner = small_policy(4)
    engine = TorchEngine(small_policy(1))
    engine.load(Version(1, 1), to_arrays(learner))
    engine.pin(Version(1, 1))
    before = content(engine, Version(1, 1))
    optimizer = torch.optim.SGD(learner.parameters(), lr=1.0)
    for number in range(2, 5):
        output = learner(torch.from_numpy(OBSERVATIONS))
        (output.dist_inputs.square().sum() + output.value.sum()).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        engine.load(Version(1, number), to_arrays(learner))
    assert content(engine, Version(1, 1)) == before
    assert engine.forward([OBSERVATIONS]).outputs[0].tobytes() != before


class Wavering(nn.Module):
    """Drops out half of what it sees in training mode."""

    def __init__(self) -> None:
        super().__init__()
        self.spec = discrete((2,), 2)
        self.dropout = nn.Dropout()
        self.norm = nn.BatchNorm1d(2)

    def forward(self, observation: Tensor) -> PolicyOutput:
        seen = self.norm(self.dropout(observation))
        return PolicyOutput(seen, seen.sum(1))


def test_the_network_answers_in_evaluation_mode_pinned_versions_too() -> None:
    engine = TorchEngine(Wavering().train())
    engine.pin(Version(1, 1), copy.deepcopy(to_arrays(Wavering())))
    for version in (None, Version(1, 1)):
        answers = [engine.forward([OBSERVATIONS], [], version).outputs[0] for _ in range(3)]
        np.testing.assert_array_equal(answers[0], answers[1])
        np.testing.assert_array_equal(answers[0], answers[2])
        np.testing.assert_allclose(answers[0], OBSERVATIONS, rtol=1e-4)  # Untouched running statistics.
