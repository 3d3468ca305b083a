from typing import Any

import pytest

from app.models.distributions.categorical import Categorical
from app.models.distributions.gaussian import Gaussian
from app.models.spec import ArraySpec, ModelSpec, spec_hash
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
