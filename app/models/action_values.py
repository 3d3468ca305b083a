"""The contract of networks that value actions: what Q-learning trains."""

from typing import Literal, Protocol, runtime_checkable

from torch import Generator, Tensor

from app.models.distributions.epsilon_greedy import EpsilonGreedy
from app.models.spec import ModelSpec

Returns = Literal["expected", "categorical", "quantile"]
"""What is known of the return of an action: its mean, chances of fixed atoms (C51), or its quantiles (QR)."""


@runtime_checkable
class ValuesActions(Protocol):
    """A torch module whose spec has one ``EpsilonGreedy`` leaf for its action.

    Its forward maps an observation to a ``PolicyOutput``: values of the actions and ``epsilon`` behind them,
    [B, A + 1], and the value of the best action. With ``returns=True`` it gives the returns of all actions instead,
    [B, A, atoms]: means (one atom), logits over ``support``, or quantiles. It has no recurrent state.
    """

    spec: ModelSpec
    epsilon: Tensor
    """Chance of a random action, a buffer [1]; the learner sets it."""
    returns: Returns
    """What is known of a return."""
    support: Tensor
    """Returns of the atoms of a categorical distribution, [atoms]; of no meaning for the others."""

    def expected(self, returns: Tensor) -> Tensor:
        """Returns the values, [B, A], of returns [B, A, atoms]."""

    def draw_noise(self, generator: Generator) -> None:
        """Draws the noise of noisy layers anew; does nothing where there are none."""


def values_problem(module: object, spec: ModelSpec) -> str | None:
    """Returns why Q-learning cannot train a model; None where it can."""
    if not spec.is_policy:
        return "it is no policy: its spec has outputs and no action"
    kinds = [type(leaf).__name__ for leaf in spec.actions.leaves]
    if len(spec.actions) != 1 or not isinstance(spec.actions.leaves[0], EpsilonGreedy):
        return f"its action is {', '.join(kinds)}; allowed is one EpsilonGreedy, as a network with a part q has"
    if len(spec.states):
        return "it carries a state; allowed is a network whose ticks stand alone"
    if not isinstance(module, ValuesActions):
        return f"{type(module).__name__} lacks epsilon, returns, support, expected or draw_noise of ValuesActions"
    return None
