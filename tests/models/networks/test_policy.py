from typing import Any

import numpy as np
import pytest
import torch

from app.errors import ConfigError
from app.models.distributions.categorical import Categorical
from app.models.distributions.gaussian import Gaussian
from app.models.distributions.squashed_gaussian import SquashedGaussian
from app.models.module import build_module, spec_of
from app.models.networks.policy import Policy, build
from app.models.spec import ArraySpec
from app.models.torch_engine import TorchEngine

FACTORY = "app.models.networks.policy:build"
UNITS = {
    "units": {"shape": [5, 6]},
    "me": {"shape": [3], "dtype": "uint8"},
    "camera": {"shape": [1, 12, 10], "dtype": "uint8"},
}
SEES_UNITS = {
    "kind": "parts",
    "parts": {
        "units": {"kind": "entities", "present": 0, "hidden": 16, "heads": 2},
        "me": {"kind": "mlp", "hidden": [8]},
        "camera": {"kind": "cnn", "filters": [[4, 3, 2]], "units": 9},
    },
    "hidden": [16],
}
ACTION = {
    "target": {"points_at": "units"},
    "go": [{"shape": [2], "low": [-1, 0], "high": 1}, {"choices": [2, 4]}],
    "jump": {"shape": []},
}


def everything(**changes: Any) -> Policy:
    torch.manual_seed(0)
    return build(
        UNITS, ACTION, **{"encoder": SEES_UNITS, "memory": {"kind": "lstm", "units": 7}, "head_gain": 1.0} | changes
    )


def seen(*axes: int) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return {
        "units": torch.randn(*axes, 5, 6, generator=generator),
        "me": torch.randint(0, 9, (*axes, 3), generator=generator, dtype=torch.uint8),
        "camera": torch.randint(0, 256, (*axes, 1, 12, 10), generator=generator, dtype=torch.uint8),
    }


def test_a_config_describes_spec_and_network() -> None:
    module = build_module(FACTORY, {"observation": UNITS, "action": ACTION, "encoder": SEES_UNITS}, seed=0)
    spec = spec_of(module)
    assert spec.observation == {
        "units": ArraySpec((5, 6)),
        "me": ArraySpec((3,), "uint8"),
        "camera": ArraySpec((1, 12, 10), "uint8"),
    }
    assert spec.action == {
        "target": Categorical(5),
        "go": (SquashedGaussian((-1.0, 0.0), 1.0, (2,)), (Categorical(2), Categorical(4))),
        "jump": Gaussian(),
    }
    assert spec.state is None


@pytest.mark.parametrize("rows", [1, 2, 7])
def test_an_engine_answers_with_it_and_carries_its_state(rows: int) -> None:
    engine = TorchEngine(everything())
    inputs = [leaf.numpy() for leaf in engine.spec.inputs.flatten(seen(rows))]
    states = [np.zeros((rows, 7), np.float32)] * 2
    first = engine.forward(inputs, states)
    again, later = engine.forward(inputs, states), engine.forward(inputs, first.states)
    np.testing.assert_array_equal(first.outputs[-1], again.outputs[-1])
    assert (first.outputs[-1] != later.outputs[-1]).all()


def test_a_rows_answer_does_not_depend_on_its_batch() -> None:
    policy = everything().eval()
    whole, alone = policy(seen(6)), policy({name: leaf[2:3] for name, leaf in seen(6).items()})
    torch.testing.assert_close(whole.dist_inputs["target"][2:3], alone.dist_inputs["target"])
    torch.testing.assert_close(whole.state["cell"][2:3], alone.state["cell"])


@pytest.mark.parametrize(
    ("kind", "value"), [("lstm", None), ("gru", {"encoder": SEES_UNITS, "alone": ["camera"]})], ids=["lstm", "gru"]
)
def test_an_unroll_is_what_tick_by_tick_gives(kind: str, value: dict[str, Any] | None) -> None:
    seen_by_policy = {"units": SEES_UNITS["parts"]["units"], "me": {"kind": "mlp", "hidden": [8]}}  # type: ignore[index]
    encoder = SEES_UNITS if value is None else {"kind": "parts", "parts": seen_by_policy, "hidden": [16]}
    policy = everything(memory={"kind": kind, "units": 7}, value=value, encoder=encoder)
    generator = torch.Generator().manual_seed(3)
    reset = torch.rand(9, 4, generator=generator) < 0.3
    observation = seen(9, 4)
    state = {name: torch.randn(4, 7, generator=generator) for name in policy.spec.states.paths}
    whole = policy.unroll(observation, state, reset)
    for t in range(9):
        state = {name: part.masked_fill(reset[t][:, None], 0.0) for name, part in state.items()}
        tick = policy({name: leaf[t] for name, leaf in observation.items()}, state)
        for got, expected in zip(
            policy.spec.actions.flatten(whole.dist_inputs), policy.spec.actions.flatten(tick.dist_inputs), strict=True
        ):
            torch.testing.assert_close(got[t], expected, rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(whole.value[t], tick.value, rtol=1e-5, atol=1e-6)
        state = tick.state
    for name, part in state.items():
        torch.testing.assert_close(whole.state[name], part, rtol=1e-5, atol=1e-6)


def test_a_policy_without_memory_has_nothing_to_unroll() -> None:
    with pytest.raises(ValueError, match="no memory to unroll"):
        everything(memory=None).unroll(seen(2, 1), {}, torch.zeros(2, 1, dtype=torch.bool))


CENTRAL = {"own": {"shape": [3]}, "state": {"shape": [5]}}


def test_a_centralised_critic_sees_what_the_policy_does_not() -> None:
    torch.manual_seed(0)
    policy = build(
        CENTRAL, {"choices": 2}, value={"alone": ["state"], "encoder": {"kind": "mlp", "hidden": [8]}}, head_gain=1.0
    )
    own, state = torch.randn(4, 3), torch.randn(4, 5, requires_grad=True)
    one, other = policy({"own": own, "state": state}), policy({"own": own, "state": state + 1})
    torch.testing.assert_close(one.dist_inputs, other.dist_inputs, rtol=0, atol=0)
    assert (one.value - other.value).abs().min() > 1e-3
    (by_value,) = torch.autograd.grad(one.value.sum(), state, retain_graph=True)
    assert by_value.abs().min() > 0
    assert torch.autograd.grad(one.dist_inputs.sum(), state, allow_unused=True) == (None,)


def test_a_value_with_layers_of_its_own_shares_none_with_the_policy() -> None:
    torch.manual_seed(0)
    policy = build({"shape": [3]}, {"choices": 2}, value={"encoder": {"kind": "mlp", "hidden": [8]}}, normalise=True)
    policy(torch.randn(4, 3)).value.sum().backward()
    touched = {name.split(".")[0] for name, p in policy.named_parameters() if p.grad is not None}
    assert touched == {"value_encoder", "value"}


@pytest.mark.parametrize("std", ["shared", "state"])
def test_deviations_are_parameters_or_follow_the_observation(std: str) -> None:
    torch.manual_seed(0)
    policy = build({"shape": [3]}, {"shape": [2]}, std=std, log_std=-1.0, head_gain=1.0)
    log_std = policy(torch.randn(5, 3)).dist_inputs[:, 2:]
    assert torch.allclose(log_std, torch.tensor(-1.0)) == (std == "shared")
    log_std.sum().backward()
    assert policy.heads[0].offset.grad is not None


def test_the_first_policy_is_nearly_indifferent() -> None:
    torch.manual_seed(0)
    policy = build({"shape": [4]}, {"choices": 3})
    assert policy(torch.randn(64, 4)).dist_inputs.softmax(-1).sub(1 / 3).abs().max() < 0.02


GOOD: dict[str, Any] = {"observation": {"shape": [4]}, "action": {"choices": 2}}
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"observation": {}}, "observation: is empty; allowed is a leaf with shape, or parts by name"),
    ({"observation": 4}, "observation: is 4; allowed is a leaf, parts by name, or a list of parts"),
    ({"observation": []}, r"observation: is \[\]"),
    ({"observation": {"a": {"shape": [0]}}}, r"observation\.a\.shape: shape is \[0\]; allowed are positive sizes"),
    ({"observation": [{"shape": [1]}, {"shape": "x"}]}, r"observation\.1\.shape: wrong value, got 'x'"),
    ({"observation": {"shape": [4], "dtyp": "x"}}, r"observation\.dtyp: unknown key, did you mean 'dtype'"),
    ({"observation": {"shape": [4], "dtype": "float33"}}, "dtype is 'float33'; allowed are numpy names of numbers"),
    ({"observation": {"shape": [4], "dtype": "object"}}, "dtype is 'object'"),
    ({"observation": {"a/b": {"shape": [4]}}}, "has the key 'a/b'; allowed is text without a slash"),
    ({"action": {"choices": 0}}, "action: a categorical action needs at least one choice"),
    ({"action": {"choices": []}}, "action: a multi-discrete action needs at least one choice"),
    ({"action": {"choices": 2, "low": 1}}, "action: low and high stand together beside a shape"),
    ({"action": {"shape": [2], "choices": 2}}, "has one of choices, points_at, shape, got choices, shape"),
    ({"action": {"x": [{"shape": [2], "low": 1, "high": 0}]}}, r"action\.x\.0: .* low < high, got 1\.0 and 0\.0"),
    ({"action": {"shape": [2], "low": [0, 1, 2], "high": 3}}, "do not fit an action of shape"),
    ({"action": {"points_at": "units"}}, "points_at is 'units'; allowed are .*: there are none"),
    ({"encoder": {"kind": "mpl"}}, "encoder: wrong value, got .*'mlp', 'cnn', 'entities', 'parts'"),
    ({"encoder": {"kind": "cnn"}}, r"kind cnn sees one array of channels, height, width, got observation \[4\]"),
    ({"encoder": {"kind": "entities"}}, r"kind entities sees one array of entities, features"),
    ({"encoder": {"kind": "mlp", "hidden": [0]}}, r"encoder\.hidden\.0: wrong value, got 0"),
    ({"encoder": {"kind": "parts", "parts": {}}}, "parts has encoders of nothing; allowed is one for each of ''"),
    ({"memory": {"kind": "rnn"}}, r"memory\.kind: wrong value, got 'rnn'"),
    ({"memori": {}}, "memori: unknown key, did you mean 'memory'"),
    (
        {"observation": {"u": {"shape": [3, 2]}}, "action": {"points_at": "u"}},
        "points_at is 'u'; allowed are parts with an encoder of kind entities",
    ),
    (
        {"observation": {"shape": [3, 2]}, "encoder": {"kind": "entities", "present": 2}},
        "present is 2; an entity has 2 features",
    ),
    ({"observation": {"shape": [3, 2]}, "encoder": {"kind": "entities", "hidden": 6}}, "hidden is 6 and heads 4"),
    ({"value": {"alone": ["state"]}}, r"value.alone is \['state'\]; allowed are some parts .* none: it is one array"),
    ({"observation": CENTRAL, "value": {"alone": ["stat"]}}, "allowed are some parts of the observation, not all: own"),
    ({"observation": CENTRAL, "value": {"alone": ["own", "state"]}}, "not all: own, state"),
    ({"value": {}, "q": {}}, "allowed is one of value, q and critics"),
    ({"policy_target": True, "q": {}}, "policy_target is that of a policy; q has none"),
    ({"policy_target": True, "action": {"shape": [2]}}, "policy_target needs one choice"),
]


@pytest.mark.parametrize(("change", "message"), WRONG)
def test_a_wrong_description_is_refused_by_name(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        build(**GOOD | change)


@pytest.mark.parametrize("popart", [None, 0.1])
@pytest.mark.parametrize("value", [None, {"encoder": {"kind": "mlp", "hidden": [4]}}])
def test_a_policy_values_each_named_reward(popart: float | None, value: dict[str, Any] | None) -> None:
    policy = build(
        {"shape": [3]}, {"choices": 2}, rewards=["win", "health"], popart=popart, value=value,
        memory={"kind": "gru", "units": 5},
    )  # fmt: skip
    assert policy.spec.rewards == ("win", "health")
    assert policy(torch.zeros(4, 3)).value.shape == (4, 2)
    whole = policy.unroll(torch.zeros(6, 4, 3), {"hidden": torch.zeros(4, 5)}, torch.zeros(6, 4, dtype=torch.bool))
    assert whole.value.shape == (6, 4, 2)
    outputs = TorchEngine(policy).forward([np.zeros((4, 3), np.float32)], [np.zeros((4, 5), np.float32)]).outputs
    assert outputs[-1].shape == (4, 2)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"rewards": ["win"]}, "allowed are two or more different names"),
        ({"rewards": ["a", "b"], "q": {}}, "q and critics value one reward"),
        ({"rewards": ["a", "b"], "critics": {}}, "q and critics value one reward"),
    ],
)
def test_rewards_that_a_network_cannot_value_are_refused(more: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        build({"shape": [3]}, {"choices": 2}, **more)
