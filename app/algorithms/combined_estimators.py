"""Estimators that change a part of what another one says."""

from dataclasses import dataclass

from app.algorithms.estimators import Estimate, Estimator, Played
from app.algorithms.played_steps import steps_of
from app.algorithms.td_lambda import lambda_returns
from app.algorithms.upgo import upgo_returns


@dataclass(frozen=True, slots=True)
class Combined:
    """Another estimator, of which something is kept."""

    advantages: Estimator
    gamma: float

    @property
    def wants_log_ratio(self) -> bool:
        """Whether the advantages are corrected for the policy that acted."""
        return self.advantages.wants_log_ratio


@dataclass(frozen=True, slots=True)
class OwnValueTargets(Combined):
    """The advantages of another estimator, and for the value λ-returns of its own λ, as if the present policy acted."""

    lambda_: float

    def __call__(self, played: Played) -> Estimate:
        """Returns the advantages, and λ-returns as targets."""
        found = self.advantages(played)
        steps = steps_of(played.reward, played.value, played.kind, self.gamma)
        targets = lambda_returns(steps.r_t, steps.discount_t, steps.v_t, steps.cut_t, self.lambda_)
        return Estimate(found.advantage, steps.over_rows(targets, len(played.kind)))


@dataclass(frozen=True, slots=True)
class Upgoing(Combined):
    """The advantages of another estimator, and on top those of the upgoing returns; its value targets."""

    coef: float
    """Weight of the upgoing ones."""

    def __call__(self, played: Played) -> Estimate:
        """Returns the sum of both; where ratios are known, the upgoing ones are weighed by them, at most 1."""
        found = self.advantages(played)
        steps = steps_of(played.reward, played.value, played.kind, self.gamma)
        surplus = upgo_returns(*steps[:5]) - steps.v_tm1
        if played.log_ratio is not None:
            surplus = surplus * played.log_ratio[steps.rows, None].exp().clamp(max=1.0)
        more = steps.over_rows(surplus, len(played.kind))
        return Estimate(found.advantage + self.coef * more, found.target_value)
