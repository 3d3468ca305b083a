"""What every policy loss learns from."""

from typing import NamedTuple, Protocol

from torch import Tensor


class Worth(NamedTuple):
    """What was done and what it was worth, [B]; values of named rewards are [B, heads]. None has a gradient."""

    behaviour_log_prob: Tensor
    """Log-probability of the action under the policy that took it."""
    advantage: Tensor
    """Advantage of the action taken."""
    target_value: Tensor
    """Return that the value should predict."""
    weight: Tensor
    """1 for rows that count, 0 for masked ones."""
    value_before: Tensor | None = None
    """Value that the network gave before the update; None where no loss asks for it."""

    def at(self, rows: Tensor) -> "Worth":
        """Returns these rows alone."""
        before = None if self.value_before is None else self.value_before[rows]
        return Worth(
            self.behaviour_log_prob[rows], self.advantage[rows], self.target_value[rows], self.weight[rows], before
        )


class LossTerms(Protocol):
    """A NamedTuple of sums; its field ``total`` is what is minimised."""

    def _asdict(self) -> dict[str, Tensor]:
        """Returns the sums by name."""


class PolicyLoss(Protocol):
    """A loss of a policy and its value."""

    def __call__(self, log_prob: Tensor, entropy: Tensor, value: Tensor, worth: Worth) -> LossTerms:
        """Returns named sums over the rows that count."""


def check_rows(log_prob: Tensor, entropy: Tensor, value: Tensor, worth: Worth) -> None:
    """Does nothing where all columns have one shape [B], and those of values one shape [B] or [B, heads].

    Raises:
      ValueError: They have not.
    """
    rows = (log_prob, entropy, worth.behaviour_log_prob, worth.advantage, worth.weight)
    values = [x for x in (value, worth.target_value, worth.value_before) if x is not None]
    shapes, of_values = {tuple(x.shape) for x in rows}, {tuple(x.shape) for x in values}
    if len(shapes | {x.shape[:1] for x in values}) != 1 or log_prob.ndim != 1:
        raise ValueError(f"a policy loss needs one shape [B], got {sorted(shapes | of_values)}")
    if len(of_values) != 1 or value.ndim > 2:  # noqa: PLR2004  # Rows and heads.
        raise ValueError(f"a value loss needs one shape [B] or [B, heads], got {sorted(of_values)}")


def over_heads(x: Tensor) -> Tensor:
    """Returns the sum over the heads of each row, [B], for [B] or [B, heads]."""
    return x if x.ndim == 1 else x.sum(-1)
