import numpy as np
import pytest
import torch

from app.errors import PluginError
from app.models.distributions.categorical import Categorical
from app.models.module import build_module, from_arrays, hash_of, spec_of, to_arrays
from app.models.spec import ArraySpec
from tests.small_policy import small_policy

FACTORY = "tests.small_policy:SmallPolicy"


def test_a_module_is_built_with_its_arguments() -> None:
    module = build_module(FACTORY, {"inputs": 3, "actions": 5}, seed=1)
    assert spec_of(module).observation == ArraySpec((3,))
    assert spec_of(module).action == Categorical(5)


def test_parameters_follow_from_the_seed_alone() -> None:
    first, torch_before = to_arrays(build_module(FACTORY, {}, seed=1)), torch.rand(1)
    again, other = to_arrays(build_module(FACTORY, {}, seed=1)), to_arrays(build_module(FACTORY, {}, seed=2))
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert not np.array_equal(first["policy.weight"], other["policy.weight"])
    assert torch_before != torch.rand(1)


def test_building_leaves_the_global_generator_alone() -> None:
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    build_module(FACTORY, {}, seed=9)
    assert torch.equal(torch.rand(2), expected)


@pytest.mark.parametrize(
    ("factory", "message"),
    [
        ("tests.small_policy:broken_factory", "with an attribute spec: ModelSpec, got Linear"),
        ("app.models.module:np", "is not callable, it is a module"),
        ("builtins:dict", "must return a torch module .* got dict"),
    ],
)
def test_what_is_no_policy_is_refused(factory: str, message: str) -> None:
    with pytest.raises(PluginError, match=message):
        build_module(factory, {}, seed=0)


def test_arrays_are_copies_in_both_directions() -> None:
    module = small_policy(1)
    arrays = to_arrays(module)
    kept = arrays["policy.weight"].copy()
    with torch.no_grad():
        module.policy.weight.zero_()
    assert np.array_equal(arrays["policy.weight"], kept)
    from_arrays(module, arrays)
    arrays["policy.weight"][:] = 7  # type: ignore[call-overload]
    assert np.array_equal(module.policy.weight.detach().numpy(), kept)


def test_the_hash_tells_shapes_apart_and_not_values() -> None:
    assert hash_of(small_policy(1)) == hash_of(small_policy(2))
    assert len({hash_of(small_policy(inputs=i, actions=a)) for i, a in ((2, 2), (2, 3), (3, 2))}) == 3
