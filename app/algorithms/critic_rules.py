"""One optimizer step of SAC, TD3, DDPG and IQL; the papers are cited beside their losses."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from app.algorithms import sac
from app.algorithms.conservatism import Conservatism
from app.algorithms.critic_learner import Judged
from app.algorithms.critic_networks import CriticNetworks, Part, choice_policy
from app.algorithms.imitation import advantage_weights, behaviour_cloning_loss, expectile_loss
from app.algorithms.sampled_actions import modes, numbers, sampled_actions
from app.algorithms.td3 import clipped_double_q_target, deterministic_policy_loss, smoothed
from app.models.distributions.action import log_prob
from app.models.distributions.squashed_gaussian import SquashedGaussian
from app.models.spec import ModelSpec


@dataclass(frozen=True, slots=True)
class SoftActorCritic:
    """SAC, with a temperature that keeps the entropy; for one choice, or for real numbers."""

    target_entropy: float | None
    """Entropy to keep, in nats; None: for numbers minus how many there are, each as if within [-1, 1], and for choices
    a share of the largest one."""
    entropy_share: float
    """That share."""
    conservative: Conservatism | None = None
    """How little is believed in what nobody did; None believes it, as one may whose own games go on."""
    numbers_alone: bool = False
    policy_every_steps: int = 1

    def judge(self, networks: CriticNetworks, part: Part, step: int, draw: torch.Generator) -> Judged:
        """Returns the loss of some transitions; see ``Rule``."""
        temperature = networks.log_temperature.detach().exp()
        target = part.target
        if target is None:
            target = sac.soft_target(part.reward, part.discount, self.value_t(networks, part, draw))
        dist_inputs, value = networks.policy(part.observation)
        counts = torch.ones_like(part.weight)
        if networks.kind == "choices":
            values = networks.choices(part.observation)
            q = networks.taken(values, part.action)
            policy = _choices(dist_inputs[0], part.mask[0])
            policy_loss = sac.policy_loss_discrete(values, policy, temperature, counts)
            entropy = -(policy.probs * policy.log_probs).sum(-1)
        else:
            q = networks.values(part.observation, part.action)
            sampled = sampled_actions(networks.spec, dist_inputs, draw)
            judged = networks.judged(part.observation, sampled.actions)
            policy_loss = sac.policy_loss(judged, sampled.log_prob, temperature, counts)
            entropy = -sampled.log_prob
        kept = self._kept_entropy(networks.spec, part)
        terms = {
            "critic": sac.critic_loss(q, target, part.weight),
            "policy": policy_loss,
            "temperature": sac.temperature_loss(networks.log_temperature, entropy, kept, counts),
        }
        total = sum(terms.values()) + networks.untouched(dist_inputs, value)
        more = {"entropy": entropy.sum(), "q": q.mean(0).sum()}
        if self.conservative is not None:
            more["conservative"] = self.conservative.excess(networks, part, dist_inputs, q, draw).sum()
            total = total + self.conservative.coef * more["conservative"]
        return Judged({"total": total} | terms | more, (target - q).mean(0).detach())

    @torch.no_grad()
    def value_t(self, networks: CriticNetworks, part: Part, draw: torch.Generator) -> Tensor:
        """Returns the soft values of the states reached, by the smallest of the slow critics, [B]."""
        temperature = networks.log_temperature.exp()
        dist_inputs, _ = networks.policy(part.observation_t)
        if networks.kind == "choices":
            policy = _choices(dist_inputs[0], part.mask_t[0])
            return sac.soft_value_discrete(networks.target_choices(part.observation_t), policy, temperature)
        sampled = sampled_actions(networks.spec, dist_inputs, draw)
        q = networks.target_values(part.observation_t, sampled.actions)
        return sac.soft_value(q, sampled.log_prob, temperature)

    def _kept_entropy(self, spec: ModelSpec, part: Part) -> Tensor | float:
        if self.target_entropy is not None:
            return self.target_entropy
        leaf = spec.actions.leaves[0]
        if leaf.choices:
            mask = part.mask[0]
            return self.entropy_share * (math.log(leaf.choices) if mask is None else mask.sum(-1).float().log())
        return sum(_unit_entropy(number) for number in spec.actions.leaves)


@dataclass(frozen=True, slots=True)
class TwinDelayed:
    """TD3 for real numbers; DDPG is the case of one critic, no noise and no delay. Actions are those of the means."""

    policy_every_steps: int
    target_noise: float
    """Deviation of the noise on target actions, as a share of half the range."""
    target_noise_clip: float
    numbers_alone: bool = True

    def judge(self, networks: CriticNetworks, part: Part, step: int, draw: torch.Generator) -> Judged:
        """Returns the loss of some transitions; see ``Rule``."""
        with torch.no_grad():
            actions_t = self._noisy(networks, part, draw)
            q_t = networks.target_values(part.observation_t, actions_t)
            target = clipped_double_q_target(part.reward, part.discount, q_t)
        q = networks.values(part.observation, part.action)
        critic = sac.critic_loss(q, target, part.weight)
        terms = {"total": critic, "critic": critic, "q": q.mean(0).sum()}
        error = (target - q).mean(0).detach()
        if step % self.policy_every_steps:
            return Judged(terms, error)
        dist_inputs, value = networks.policy(part.observation)
        judged = networks.judged(part.observation, modes(networks.spec, dist_inputs))
        policy = deterministic_policy_loss(judged[0], torch.ones_like(part.weight))
        terms["total"] = critic + policy + networks.untouched(dist_inputs, value)
        if self.policy_every_steps == 1:  # Else its mean over all steps would say nothing.
            terms["policy"] = policy
        return Judged(terms, error)

    def _noisy(self, networks: CriticNetworks, part: Part, draw: torch.Generator) -> list[Tensor]:
        best = modes(networks.spec, networks.target_policy(part.observation_t))
        found = []
        for leaf, mode in zip(numbers(networks.spec), best, strict=True):
            low, high = leaf.bounds(mode)
            found.append(smoothed(mode, low, high, self.target_noise, self.target_noise_clip, draw))
        return found


@dataclass(frozen=True, slots=True)
class ImplicitQ:
    """IQL: the value leans to the better actions in the data, and the policy clones these."""

    expectile: float
    """Above 0.5 the value leans to the better actions."""
    advantage_scale: float
    """How sharply better actions are preferred."""
    largest_weight: float
    """Largest weight of a row."""
    numbers_alone: bool = False
    policy_every_steps: int = 1

    def judge(self, networks: CriticNetworks, part: Part, step: int, draw: torch.Generator) -> Judged:
        """Returns the loss of some transitions; see ``Rule``."""
        with torch.no_grad():
            _, value_t = networks.policy(part.observation_t)
            target = part.reward + part.discount * value_t
            worth = networks.target_values(part.observation, part.action).min(0).values
        q = networks.values(part.observation, part.action)
        dist_inputs, value = networks.policy(part.observation)
        counts = torch.ones_like(part.weight)
        better = advantage_weights(worth - value, self.advantage_scale, self.largest_weight)
        probability = log_prob(networks.spec.actions, dist_inputs, part.action, part.mask)
        terms = {
            "critic": sac.critic_loss(q, target, part.weight),
            "value": expectile_loss(worth - value, self.expectile, counts),
            "policy": behaviour_cloning_loss(probability, better),
        }
        total = sum(terms.values()) + networks.untouched(dist_inputs, value)
        return Judged({"total": total} | terms, (target - q).mean(0).detach())


def _choices(logits: Tensor, mask: Tensor | None) -> sac.DiscretePolicy:
    log_probs = choice_policy(logits, mask)
    return sac.DiscretePolicy(log_probs.exp(), log_probs.clamp(min=-1e6))


def _unit_entropy(leaf: object) -> float:
    """Returns minus the number of numbers, corrected for bounds other than [-1, 1]."""
    if not isinstance(leaf, SquashedGaussian):
        raise TypeError(f"bounded numbers have such an entropy, got {leaf}")
    return leaf.log_half_range - leaf.draws
