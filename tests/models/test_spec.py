from typing import Any

import numpy as np
import pytest

from app.models.distributions.categorical import Categorical
from app.models.distributions.gaussian import Gaussian
from app.models.spec import ArraySpec, ModelSpec, spec_hash
from app.replay.rows import row_dtypes
from tests.small_policy import discrete


@pytest.mark.parametrize(("shape", "actions"), [((4,), 0), ((4, 0), 2), ((-1,), 2)])
def test_sizes_that_are_not_positive_are_refused(shape: tuple[int, ...], actions: int) -> None:
    with pytest.raises(ValueError, match="needs"):
        discrete(shape, actions)


def test_a_scalar_observation_has_no_axes() -> None:
    assert discrete((), 2).inputs.leaves[0].shape == ()


def test_the_hash_does_not_depend_on_the_order_of_parameters() -> None:
    spec = discrete((4,), 2)
    assert spec_hash(spec, {"a": (1,), "b": (2, 3)}) == spec_hash(spec, {"b": (2, 3), "a": (1,)})


def test_every_part_of_a_model_shows_in_the_hash() -> None:
    parameters = {"a": (1,)}
    hashes = {
        spec_hash(discrete((4,), 2), parameters),
        spec_hash(discrete((4,), 3), parameters),
        spec_hash(discrete((4, 1), 2), parameters),
        spec_hash(discrete((4,), 2, "uint8"), parameters),
        spec_hash(discrete((4,), 2), {"a": (2,)}),
        spec_hash(discrete((4,), 2), {"b": (1,)}),
    }
    assert len(hashes) == 6


def test_the_hash_is_the_same_in_every_process() -> None:
    assert spec_hash(discrete((4,), 2), {"a": (1, 2)}) == "9c3266a08d9f84d8"


@pytest.mark.parametrize("action", [Gaussian((2,)), {"a": Categorical(2), "b": Categorical(2)}, None])
def test_a_target_of_anything_but_one_choice_is_refused(action: Any) -> None:
    outputs = ArraySpec(()) if action is None else None
    with pytest.raises(ValueError, match="needs one choice"):
        ModelSpec(ArraySpec((1,)), action, outputs=outputs, policy_target=True)


def test_a_spec_with_named_rewards_has_a_value_for_each() -> None:
    spec = ModelSpec(ArraySpec((2,)), Categorical(2), rewards=("win", "health"))
    assert spec.answers.leaves[-1] == ArraySpec((2,))
    assert row_dtypes(spec)["reward"] == row_dtypes(spec)["value"] == (np.dtype(np.float32), (2,))
    swapped = ModelSpec(ArraySpec((2,)), Categorical(2), rewards=("health", "win"))
    assert spec_hash(spec, {}) != spec_hash(swapped, {})


@pytest.mark.parametrize("names", [("win",), ("win", "win"), ("win", "a b"), ("win", ""), ("win", "a/b")])
def test_names_of_rewards_are_two_or_more_and_fit_metrics(names: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="allowed are two or more different names"):
        ModelSpec(ArraySpec((2,)), Categorical(2), rewards=names)


def test_what_is_no_policy_names_no_rewards() -> None:
    with pytest.raises(ValueError, match="no policy; allowed are none"):
        ModelSpec(ArraySpec((2,)), outputs=ArraySpec(()), rewards=("win", "health"))
