from typing import Any

import pytest

from app.models.depending import acting_parameters, shared_parameters, valuing_parameters
from app.models.networks.policy import build
from tests.small_policy import TablePolicy


def test_layers_in_front_of_both_are_shared() -> None:
    module = build({"shape": [3]}, {"choices": 2}, encoder={"kind": "mlp", "hidden": [4]})
    names = {name.partition(".")[0] for name in shared_parameters(module)}
    assert names == {"encoder"}


@pytest.mark.parametrize("memory", [None, {"kind": "lstm", "units": 4}])
def test_a_value_with_layers_of_its_own_shares_none(memory: dict[str, Any] | None) -> None:
    module = build({"shape": [3]}, {"shape": [2]}, value={}, memory=memory)
    assert shared_parameters(module) == []
    mine, theirs = acting_parameters(module), valuing_parameters(module)
    assert len(mine) + len(theirs) == len(list(module.parameters()))


def test_a_value_behind_the_memory_shares_what_the_state_depends_on() -> None:
    module = build({"shape": [3]}, {"choices": 2}, memory={"kind": "gru", "units": 4})
    assert {name.partition(".")[0] for name in shared_parameters(module)} == {"encoder", "memory"}


def test_a_value_without_parameters_depends_on_none() -> None:
    module = TablePolicy([0.0, 1.0])
    assert acting_parameters(module) == [module.logits]
    assert valuing_parameters(module) == []
