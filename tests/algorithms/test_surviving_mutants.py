"""Faults that the proofs of learning do not notice: with each put in, tests with constants by hand fail.

``SURVIVORS`` names the tests that notice it; docs/proofs.md has the same list.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor

import app.algorithms.batch_columns
import app.algorithms.dqn
import app.algorithms.gae
import app.algorithms.natural_gradient
import app.algorithms.sac
import app.algorithms.vtrace
from app.types import RowKind
from tests.proofs.mutants import Function, negated, never_terminated_trace

from . import (
    test_dqn,
    test_estimators,
    test_every_algorithm,
    test_gae,
    test_learner,
    test_natural_gradient,
    test_q_learner,
    test_sac,
)
from .kinds import POLICIES, VALUES, Case

Test = Callable[[], object]
IMPALA, PPO = (next(case for case in POLICIES if case.kind == kind) for kind in ("impala", "ppo"))
DQN = next(case for case in VALUES if case.kind == "dqn")
SAC = next(case for case in test_every_algorithm.CRITICS_OF_CHOICES if case.kind == "sac")
ENDLESS = 0.9
"""Discount where there should be none."""


@dataclass(frozen=True)
class Survivor:
    """A fault, and the tests that notice it."""

    name: str
    owner: object
    """Module or class of the function."""
    attribute: str
    fault: Callable[[Function], Function]
    noticed_by: tuple[Test, ...]


def never_terminated(gae: Function) -> Function:
    """GAE: behind the end of a game its value goes on."""

    def faulty(reward: Any, value: Any, kind: Any, *more: Any) -> Any:
        going_on = kind.copy()
        going_on[kind == RowKind.TERMINATED] = RowKind.TRUNCATED
        return gae(reward, value, going_on, *more)

    return faulty


def never_terminated_critics(target: Function) -> Function:
    """SAC: behind the end of a game its value goes on."""
    return lambda reward, discount, value_t: target(reward, _going_on(discount), value_t)


def never_terminated_values(target: Function) -> Function:
    """Q-learning: behind the end of a game its value goes on."""
    return lambda batch, *more: target(batch._replace(discount=_going_on(batch.discount)), *more)


def worst(greedy: Function) -> Function:
    """Q-learning: the worst action is taken for the best."""
    return lambda q, mask=None: greedy(-q, mask)


def plain(conjugate_gradients: Function) -> Function:
    """TRPO: the step goes along the gradient itself."""
    return lambda product, right, steps: right


def without_masks(masks: Function) -> Function:
    """Learning: everything was allowed."""
    return lambda self, batch, prefix="": [None for _ in masks(self, batch, prefix)]


def _going_on(discount: Tensor) -> Tensor:
    return torch.where(discount > 0, discount, ENDLESS)


def at_time_limits(case: Case) -> Test:
    return lambda: test_every_algorithm.test_behind_a_death_is_nothing_and_behind_a_time_limit_the_state_reached(case)


SURVIVORS = (
    Survivor(
        "gae: no end is an end", app.algorithms.gae, "gae", never_terminated,
        (test_gae.test_a_terminated_trajectory_by_hand, at_time_limits(PPO)),
    ),
    Survivor(
        "impala, v-trace: no end is an end", app.algorithms.vtrace, "vtrace", never_terminated_trace,
        (test_estimators.test_flat_rows_are_traced_by_the_papers_definition, at_time_limits(IMPALA)),
    ),
    Survivor(
        "sac: no end is an end", app.algorithms.sac, "soft_target", never_terminated_critics,
        (test_sac.test_a_terminated_game_is_worth_its_reward, at_time_limits(SAC)),
    ),
    Survivor(
        "sac: temperature loss has the wrong sign", app.algorithms.sac, "temperature_loss", negated,
        (lambda: test_sac.test_the_temperature_rises_while_the_entropy_is_too_small(0.2, rises=True),),
    ),
    Survivor(
        "dqn: the worst action is the target", app.algorithms.dqn, "greedy", worst,
        (
            test_dqn.test_the_online_network_chooses_and_the_target_network_values,
            test_q_learner.test_an_update_is_one_step_down_the_huber_loss_by_hand,
        ),
    ),
    Survivor(
        "dqn: no end is an end", app.algorithms.dqn, "double_q_target", never_terminated_values,
        (test_dqn.test_a_terminated_game_is_worth_its_reward, at_time_limits(DQN)),
    ),
    Survivor(
        "trpo: the gradient is the direction", app.algorithms.natural_gradient, "conjugate_gradients", plain,
        (lambda: test_natural_gradient.test_fewer_steps_are_the_best_in_fewer_directions(1),),
    ),
    Survivor(
        "masks: learning knows none", app.algorithms.batch_columns.BatchColumns, "masks", without_masks,
        (
            test_learner.test_the_mask_of_acting_is_the_mask_of_learning,
            test_learner.test_a_row_with_one_legal_action_teaches_no_policy_and_its_gradient_is_finite,
            test_q_learner.test_what_is_forbidden_in_the_state_reached_is_no_target,
            lambda: test_every_algorithm.test_with_one_legal_action_there_is_no_policy_to_learn(PPO),
        ),
    ),
)  # fmt: skip


@pytest.mark.parametrize("survivor", SURVIVORS, ids=lambda survivor: survivor.name)
def test_a_fault_that_no_proof_notices_fails_tests_by_hand(survivor: Survivor, monkeypatch: pytest.MonkeyPatch) -> None:
    for test in survivor.noticed_by:
        test()  # Without the fault it passes.
    put_in(survivor, monkeypatch)
    for test in survivor.noticed_by:
        with pytest.raises(AssertionError):
            test()


def put_in(survivor: Survivor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Puts a fault in wherever the function was imported to, tests included."""
    sound = getattr(survivor.owner, survivor.attribute)
    faulty = survivor.fault(sound)
    monkeypatch.setattr(survivor.owner, survivor.attribute, faulty)
    for name, module in list(sys.modules.items()):
        if name.startswith(("app.", "tests.")) and vars(module).get(survivor.attribute) is sound:
            monkeypatch.setattr(module, survivor.attribute, faulty)
