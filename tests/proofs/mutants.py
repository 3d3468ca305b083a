"""Faults that an algorithm could have, each put in at one place; docs/proofs.md lists them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor

import app.algorithms.adversarial
import app.algorithms.critic_rules
import app.algorithms.estimators
import app.algorithms.imitation
import app.algorithms.q_learner
import app.algorithms.sac
import app.algorithms.trust_region
import app.models.question
from app.algorithms.actor_critic import ActorCritic
from app.algorithms.ppo import ClippedPolicy

from .short import A2C, APPO, BC, CQL, DQN, GAIL, IMPALA, IQL, LOCKS, PPO, SAC, SAC_OF_NUMBERS, TD3, TRPO, Short

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Mutant:
    """One fault."""

    name: str
    owner: object
    """Module or class that holds the function."""
    attribute: str
    fault: Callable[[Function], Function]
    """From the function to the faulty one."""
    short: Short
    """Proof that must notice it."""


def negated(function: Function) -> Function:
    """Returns minus what the function does: a loss is maximised."""
    return lambda *args, **more: -function(*args, **more)


def advantage_negated(loss: Function) -> Function:
    """Policy losses: good actions become unlikely."""

    def faulty(self: object, log_prob: Tensor, entropy: Tensor, value: Tensor, worth: Any) -> Any:
        return loss(self, log_prob, entropy, value, worth._replace(advantage=-worth.advantage))

    return faulty


def short_sighted(gae: Function) -> Function:
    """Return estimator: what comes after the next reward does not count."""
    return lambda reward, value, kind, gamma, lambda_: gae(reward, value, kind, 0.0, lambda_)


def rewards_negated(gae: Function) -> Function:
    """Return estimator: rewards count as costs."""
    return lambda reward, *more: gae(-reward, *more)


def never_terminated_trace(vtrace: Function) -> Function:
    """V-trace: behind the end of a game its value goes on."""
    return lambda reward, discount, *more: vtrace(reward, discount * 0 + discount.max(), *more)


def short_sighted_trace(vtrace: Function) -> Function:
    """V-trace: what comes after the next reward does not count."""
    return lambda reward, discount, *more: vtrace(reward, discount * 0, *more)


def trace_negated(vtrace: Function) -> Function:
    """V-trace: advantages have the wrong sign."""

    def faulty(*args: Any) -> Any:
        found = vtrace(*args)
        return found._replace(advantage=-found.advantage)

    return faulty


def reward_negated(target: Function) -> Function:
    """Q-learning: rewards count as costs."""
    return lambda batch, *more: target(batch._replace(reward=-batch.reward), *more)


def first_negated(function: Function) -> Function:
    """Advantage weights: the worse actions are preferred. Targets of critics: rewards count as costs."""
    return lambda first, *more: function(-first, *more)


def exchanged(loss: Function) -> Function:
    """Discriminator: moves of the policy are taken for the expert's, and the other way round."""
    return lambda expert, own, *more: loss(own, expert, *more)


def without_masks(stacked: Function) -> Function:
    """Acting: everything is allowed."""
    return lambda action, masks: stacked(action, [None for _ in masks])


MUTANTS = (
    Mutant("ppo: policy loss has the wrong sign", ClippedPolicy, "__call__", advantage_negated, PPO),
    Mutant("gae: later rewards do not count", app.algorithms.estimators, "gae", short_sighted, PPO),
    Mutant("gae: rewards are costs", app.algorithms.estimators, "gae", rewards_negated, PPO),
    Mutant("a2c: policy loss has the wrong sign", ActorCritic, "__call__", advantage_negated, A2C),
    Mutant("a2c, gae: later rewards do not count", app.algorithms.estimators, "gae", short_sighted, A2C),
    Mutant(
        "impala, v-trace: later rewards do not count", app.algorithms.estimators, "vtrace", short_sighted_trace, IMPALA
    ),
    Mutant("impala, v-trace: advantages are negated", app.algorithms.estimators, "vtrace", trace_negated, IMPALA),
    Mutant("appo, v-trace: no end is an end", app.algorithms.estimators, "vtrace", never_terminated_trace, APPO),
    Mutant("appo: policy loss has the wrong sign", ClippedPolicy, "__call__", advantage_negated, APPO),
    Mutant("trpo: gradient has the wrong sign", app.algorithms.trust_region, "flat_gradient", negated, TRPO),
    Mutant("dqn: rewards are costs", app.algorithms.q_learner, "double_q_target", reward_negated, DQN),
    Mutant("sac: policy loss has the wrong sign", app.algorithms.sac, "policy_loss_discrete", negated, SAC),
    Mutant(
        "sac of numbers: policy loss has the wrong sign", app.algorithms.sac, "policy_loss", negated, SAC_OF_NUMBERS
    ),
    Mutant("sac of numbers: rewards are costs", app.algorithms.sac, "soft_target", first_negated, SAC_OF_NUMBERS),
    Mutant(
        "td3: policy loss has the wrong sign", app.algorithms.critic_rules, "deterministic_policy_loss", negated, TD3
    ),
    Mutant("td3: rewards are costs", app.algorithms.critic_rules, "clipped_double_q_target", first_negated, TD3),
    Mutant("bc: loss has the wrong sign", app.algorithms.imitation, "behaviour_cloning_loss", negated, BC),
    Mutant("cql: the penalty has the wrong sign", app.algorithms.q_learner, "conservative_penalty", negated, CQL),
    Mutant("iql: policy loss has the wrong sign", app.algorithms.critic_rules, "behaviour_cloning_loss", negated, IQL),
    Mutant("iql: worse actions weigh more", app.algorithms.critic_rules, "advantage_weights", first_negated, IQL),
    Mutant(
        "gail: the discriminator has the wrong sign", app.algorithms.adversarial, "discriminator_loss", exchanged, GAIL
    ),
    Mutant("masks: games allow everything", app.models.question, "stacked_masks", without_masks, LOCKS),
)
