"""Whether a challenger is better than the champion: a sequential test (Wald, 1945) with stated error rates."""

import math
from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """What the evidence says so far."""

    UNDECIDED = "undecided"
    PROMOTE = "promote"
    REJECT = "reject"


@dataclass(frozen=True, slots=True)
class PromotionTest:
    """Tests whether a challenger wins more than ``equal`` of its decided matches.

    The log-likelihood ratio Λ of "wins with ``better``" to "wins with ``equal``" grows by log(better / equal) with each
    win and by log((1 - better) / (1 - equal)) with each loss; Λ ≥ log(1 / α) promotes and Λ ≤ log β rejects. These
    bounds are a little wider than Wald's own, so that the error rates hold exactly (Ville's inequality) and not nearly.
    A draw is half a win and half a loss, whose evidence is smaller than that of decided matches.
    """

    alpha: float = 0.05
    """Largest probability that an equal challenger is promoted."""
    beta: float = 0.05
    """Largest probability that a challenger who wins with ``better`` is rejected."""
    equal: float = 0.5
    better: float = 0.55

    def __post_init__(self) -> None:
        rates_fit = 0 < self.alpha < 0.5 and 0 < self.beta < 0.5  # noqa: PLR2004  # Beyond, a coin would do as well.
        if not rates_fit or not 0 < self.equal < self.better < 1:
            raise ValueError(
                "a promotion test needs alpha and beta in (0, 0.5) and 0 < equal < better < 1, "
                f"got alpha {self.alpha}, beta {self.beta}, equal {self.equal}, better {self.better}"
            )

    def log_likelihood_ratio(self, wins: float, losses: float) -> float:
        """Returns the evidence for "better", in nats; a draw counts as half of each."""
        return wins * math.log(self.better / self.equal) + losses * math.log((1 - self.better) / (1 - self.equal))

    def verdict(self, wins: float, losses: float) -> Verdict:
        """Returns what follows from the matches so far."""
        evidence = self.log_likelihood_ratio(wins, losses)
        if evidence >= -math.log(self.alpha):
            return Verdict.PROMOTE
        if evidence <= math.log(self.beta):
            return Verdict.REJECT
        return Verdict.UNDECIDED
