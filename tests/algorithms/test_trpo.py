from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from app.algorithms.estimators import Gae
from app.algorithms.passes import SequenceSettings
from app.algorithms.trpo import TrpoLearner, TrpoSettings, trpo_problem
from app.algorithms.trust_region import TrustRegion
from app.algorithms.value_heads import Head, PerHead
from app.models.depending import acting_parameters, valuing_parameters
from app.models.distributions.action import kl
from app.models.module import spec_of
from app.models.networks.policy import build
from app.replay.rows import empty_batch
from app.types import RowKind
from tests.plain_stepper import plain_stepper
from tests.small_policy import Scorer, small_policy

from .test_learner import TICKS, Batch, Tick, batch_of, identity, parameters_of, shuffle

SETTINGS = TrpoSettings(
    estimator=Gae(0.9, 0.8),
    region=TrustRegion(max_kl=0.01, cg_steps=10, damping=0.01, line_search_steps=10, shrink=0.7),
    entropy_coef=0.0,
    value_coef=1.0,
    epochs=2,
    minibatches=2,
)


def learner(
    module: nn.Module, settings: TrpoSettings = SETTINGS, workers: int = 1, weight_decay: float = 0.0
) -> TrpoLearner:
    optimizer = torch.optim.SGD(module.parameters(), 0.1, weight_decay=weight_decay)
    stepper = plain_stepper(module, optimizer, 1e9)
    total = identity if workers == 1 else lambda x: workers * x
    return TrpoLearner(module, spec_of(module), stepper, settings, workers, total)


def copied(parameters: list[nn.Parameter]) -> list[torch.Tensor]:
    return [x.detach().clone() for x in parameters]


def random_batch(module: nn.Module, seed: int = 0) -> Batch:
    """Returns rows that the module could have played, with random observations, actions and rewards."""
    rng = np.random.default_rng(seed)
    spec = spec_of(module)
    rows = empty_batch(spec, 24)
    step = np.arange(24) % 6 < 5
    rows["kind"] = np.where(step, RowKind.STEP, RowKind.TERMINATED).astype(np.int8)
    rows["weight"] = step.astype(np.float32)
    for name, column in rows.items():
        if name.partition("/")[0] in {"observation", "reward"}:
            rows[name] = rng.normal(size=column.shape).astype(np.float32)
    for name, leaf in zip(spec.actions.columns("action"), spec.actions.leaves, strict=True):
        if leaf.choices:
            rows[name] = rng.integers(0, 2, rows[name].shape)
        else:
            rows[name] = rng.uniform(-0.9, 0.9, rows[name].shape).astype(np.float32)
    rows["log_prob"][:] = -1.0
    return {name: torch.from_numpy(column) for name, column in rows.items()}


def test_an_update_moves_the_policy_within_the_region_and_reaches_more() -> None:
    module = small_policy()
    batch = batch_of(TICKS, module)
    before = module(batch["observation"]).dist_inputs.detach()
    metrics = learner(module).update(batch, shuffle()).metrics
    counted = batch["weight"] > 0
    after = module(batch["observation"]).dist_inputs
    moved = kl(module.spec.actions, [before], [after], [batch["action_mask"] > 0])[counted].mean()
    assert 0 < metrics["kl"] <= 0.01
    assert metrics["kl"] == pytest.approx(float(moved), rel=1e-3)
    assert metrics["surrogate_gain"] > 0
    assert metrics["optimizer_steps"] == 4


def test_the_policy_and_the_critic_have_steps_of_their_own() -> None:
    module = small_policy()
    batch = batch_of(TICKS, module)
    critic = parameters_of(module.critic)
    learner(module, replace(SETTINGS, epochs=0)).update(batch, shuffle())
    assert torch.equal(parameters_of(module.critic), critic)
    policy = parameters_of(module.policy)
    other = small_policy()
    learner(other).update(batch, shuffle())
    assert torch.equal(parameters_of(other.policy), policy)
    assert not torch.equal(parameters_of(other.critic), critic)


def test_a_policy_whose_gradient_has_the_wrong_sign_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    import app.algorithms.trust_region as region  # noqa: PLC0415  # To put a fault in.

    right = region.flat_gradient
    monkeypatch.setattr(region, "flat_gradient", lambda *args, **more: -right(*args, **more))
    module = small_policy()
    policy = parameters_of(module.policy)
    metrics = learner(module).update(batch_of(TICKS, module), shuffle()).metrics
    assert torch.equal(parameters_of(module.policy), policy)
    assert (metrics["surrogate_gain"], metrics["line_search_steps"]) == (0.0, 10.0)


NUMBERS = {"shape": [2], "low": -1, "high": 1}
ACTIONS: dict[str, Any] = {
    "choices": {"choices": 2},
    "numbers": {"shape": [2]},
    "numbers within bounds": NUMBERS,
    "several": {"go": NUMBERS, "pick": [{"choices": [2, 3]}, {"choices": 4}]},
}


@pytest.mark.parametrize("action", ACTIONS.values(), ids=ACTIONS)
@pytest.mark.parametrize("memory", [None, {"kind": "lstm", "units": 4}])
def test_policies_of_any_action_with_a_memory_or_without_stay_within_the_region(
    action: Any, memory: dict[str, Any] | None
) -> None:
    torch.manual_seed(0)
    module = build({"shape": [3]}, action, encoder={"kind": "mlp", "hidden": [8]}, value={}, memory=memory, head_gain=1)
    settings = replace(SETTINGS, sequences=SequenceSettings(4, 0), entropy_coef=0.01)
    before = copied(acting_parameters(module))
    metrics = learner(module, settings).update(random_batch(module), shuffle()).metrics
    assert 0 < metrics["kl"] <= 0.01
    assert metrics["surrogate_gain"] > 0
    assert any(not torch.equal(x, y) for x, y in zip(before, acting_parameters(module), strict=True))


def test_named_rewards_move_the_policy_by_their_weights() -> None:
    torch.manual_seed(0)
    module = build({"shape": [3]}, {"choices": 2}, value={}, rewards=["win", "health"])
    heads = (Head("win", 1.0), Head("health", 0.5))
    settings = replace(SETTINGS, estimator=PerHead((Gae(0.9, 0.8), Gae(0.5, 0.8))), heads=heads)
    metrics = learner(module, settings).update(random_batch(module), shuffle()).metrics
    assert metrics["value_error/win"] + metrics["value_error/health"] == pytest.approx(metrics["loss_value"], rel=1e-5)
    assert "explained_variance/win" in metrics


def test_two_workers_with_the_same_rows_move_as_one() -> None:
    """Sums over the workers are doubled, and gradients are equal on both: their mean is each."""
    alone, both = small_policy(), small_policy()
    batch = batch_of(TICKS, alone)
    expected = learner(alone).update(batch, shuffle()).metrics
    found = learner(both, workers=2, weight_decay=0.1).update(batch, shuffle()).metrics
    assert found["kl"] == pytest.approx(expected["kl"], rel=1e-5)
    torch.testing.assert_close(parameters_of(both.policy), parameters_of(alone.policy))


def test_a_batch_without_a_row_that_counts_teaches_nothing() -> None:
    module = small_policy()
    before = parameters_of(module)
    batch = batch_of(TICKS, module)
    batch["weight"].zero_()
    assert learner(module).update(batch, shuffle()) == ({}, None)
    assert torch.equal(parameters_of(module), before)


def test_what_a_mask_forbids_moves_nothing() -> None:
    module = small_policy()
    policy = parameters_of(module.policy)
    ticks = [Tick(tick.observation, 0, tick.reward, tick.kind, (1, 0)) for tick in TICKS]
    metrics = learner(module).update(batch_of(ticks, module), shuffle()).metrics
    assert torch.equal(parameters_of(module.policy), policy)
    assert metrics["entropy"] == 0


def test_policy_and_value_share_no_parameter() -> None:
    shared = build({"shape": [3]}, {"choices": 2})
    problem = trpo_problem(shared, spec_of(shared))
    assert problem is not None
    assert problem.startswith("its policy and its value share encoder.")
    assert "value: {encoder: …}" in problem
    with pytest.raises(ValueError, match="TRPO cannot train the model: its policy and its value share"):
        learner(shared)
    apart = build({"shape": [3]}, {"choices": 2}, value={})
    assert trpo_problem(apart, spec_of(apart)) is None
    mine, theirs = ({id(x) for x in part(apart)} for part in (acting_parameters, valuing_parameters))
    assert len(mine) + len(theirs) == len(list(apart.parameters()))


def test_what_is_no_policy_is_refused() -> None:
    assert trpo_problem(Scorer(), Scorer().spec) == "it is no policy: its spec has outputs and no action"
