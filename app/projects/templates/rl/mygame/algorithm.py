"""An algorithm of one's own: REINFORCE with a baseline (Williams, 1992). ``configs/own.yaml`` trains by it."""

import torch
from app.algorithms.contract import Learned
from app.algorithms.custom import Training
from app.algorithms.estimators import Gae, Played
from torch import Tensor


class Reinforce:
    """Actions become likelier, the more the rewards behind them exceed what was expected."""

    def __init__(self, training: Training, gamma: float, value_coef: float = 0.5, entropy_coef: float = 0.01) -> None:
        if not training.spec.is_policy:
            raise ValueError("REINFORCE trains a policy")
        self.training, self.value_coef, self.entropy_coef = training, value_coef, entropy_coef
        self.returns = Gae(gamma, lambda_=1.0)

    def update(self, batch: dict[str, Tensor], shuffle: torch.Generator) -> Learned:
        """Takes one step along the gradient of a batch."""
        rows = self.training.policy_batch(batch)
        everything = torch.arange(rows.units)
        size = float(self.training.reduce_sum(torch.tensor(float(rows.size(everything)))))
        if size == 0:  # Of all workers alike.
            return Learned({})
        reward, kind, value = rows.columns["reward"].cpu(), rows.columns["kind"].cpu(), rows.known().value.cpu()
        surplus, returns = self.returns(Played(reward, kind, value, None))
        said = rows.said(everything)
        surplus, returns = (column.to(said.value)[said.rows] for column in (surplus, returns))
        terms = {
            "policy": -(surplus * said.log_prob).sum(),
            "value": (said.value - returns).square().sum(),
            "entropy": said.entropy.sum(),
        }
        total = terms["policy"] + self.value_coef * terms["value"] - self.entropy_coef * terms["entropy"]
        descent = self.training.descent()
        descent.step({"total": total, **terms}, size)
        return Learned(descent.metrics())

    def state_dict(self) -> dict[str, Tensor]:
        """Returns what the next update depends on beside the network: nothing."""
        return {}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Takes it over."""
