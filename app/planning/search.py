"""AlphaZero's search (Silver et al., 2018): a Monte Carlo tree search led by priors and values.

    select      from the root, the action with the largest Q + U, down to a leaf
    evaluate    (p, v) = f(leaf), several leaves at once
    back up     N + 1 and W + v along the path, with the sign of whoever moves
    play        in proportion to the visits of the root's actions

The search asks for evaluations and never evaluates itself: ``leaves`` says what it wants to know, ``take`` goes on with
the answer. So the same code waits for a network in another process, or calls a function.
"""

from dataclasses import dataclass
from typing import Final, Generic

import numpy as np
from numpy.typing import NDArray

from app.planning.game import Evaluation, Evaluator, P
from app.planning.puct import Floats, exploration_rate, legal_priors, noisy_priors, puct
from app.planning.tree import Node, Path, back_up, lose_for_now, select


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How a position is searched; the defaults are the paper's."""

    simulations: int
    """Visits of the root's actions."""
    batch: int = 1
    """Most leaves that are evaluated at once; 1 is the plain search. More ask the network less often, and see less: a
    leaf is chosen without knowing those beside it, which only many simulations make good."""
    exploration_init: float = 1.25
    """c_init: how much priors count."""
    exploration_base: float = 19_652.0
    """c_base: visits at which exploration begins to grow."""
    virtual_loss: int = 1
    """Lost visits that a leaf counts as while it waits."""
    noise_alpha: float = 1.0
    """α of the root's noise."""
    noise_share: float = 0.25
    """ε of the root's noise."""

    def __post_init__(self) -> None:
        if min(self.simulations, self.batch, self.virtual_loss) < 1:
            raise ValueError(f"simulations, batch and virtual_loss are at least 1, got {self}")
        if min(self.exploration_init, self.exploration_base, self.noise_alpha) <= 0 or not 0 <= self.noise_share <= 1:
            raise ValueError(f"exploration and noise_alpha are above 0, noise_share from 0 to 1, got {self}")


class Search(Generic[P]):
    """A search of one position."""

    def __init__(
        self,
        root: P,
        settings: SearchSettings,
        noise: np.random.Generator | None = None,
        allowed: NDArray[np.bool_] | None = None,
    ) -> None:
        """Begins a search.

        Args:
          root: The position to move in.
          settings: How it is searched.
          noise: Draws the root's noise; None searches without.
          allowed: Actions that may be taken in the root, [A]; None allows all legal ones.

        Raises:
          ValueError: The game is over, or no legal action is allowed.
        """
        legal = root.legal if allowed is None else root.legal & allowed
        if root.over or not legal.any():
            raise ValueError(f"a search needs a position with a legal action that is allowed, got {root}")
        self._root: Final = Node(root, legal)
        self._settings: Final = settings
        self._noise: Final = noise
        self._waiting: list[tuple[Path[P], Node[P]]] = []
        self._begun = 0
        """Simulations, those that wait counted in."""
        self._first_value = 0.0

    def leaves(self) -> list[P]:
        """Returns positions to evaluate, the root alone at first; none when the search is over.

        Raises:
          RuntimeError: Those of the last call still wait for ``take``.
        """
        if self._waiting:
            raise RuntimeError(f"{len(self._waiting)} leaves wait for their evaluation; take it first")
        if self._root.priors is None:
            self._waiting.append(([], self._root))
        while self._root.priors is not None and self._wants_more:
            path, leaf = select(self._root, self._scores)
            if leaf.position.over:
                self._begun += 1
                back_up(path, leaf.position.outcome)
            elif any(leaf is waiting for _, waiting in self._waiting):
                break  # Nothing else is worth a visit before this one is known.
            else:
                self._begun += 1
                lose_for_now(path, self._settings.virtual_loss)
                self._waiting.append((path, leaf))
        return [leaf.position for _, leaf in self._waiting]

    def take(self, evaluation: Evaluation) -> None:
        """Goes on with what is thought of the leaves, in their order.

        Raises:
          ValueError: Its shape is another, a prior is negative, or something is not finite.
        """
        priors, values = np.asarray(evaluation.priors), np.asarray(evaluation.values)
        wanted = (len(self._waiting), len(self._root.legal))
        if priors.shape != wanted or values.shape != wanted[:1]:
            raise ValueError(f"priors are {priors.shape} and values {values.shape}; allowed are {wanted}, {wanted[:1]}")
        if not (np.isfinite(priors).all() and np.isfinite(values).all() and (priors >= 0).all()):
            raise ValueError(f"priors are {priors} and values {values}; allowed are finite ones, and priors at least 0")
        waiting, self._waiting = self._waiting, []
        for (path, leaf), row, value in zip(waiting, priors, values.tolist(), strict=True):
            leaf.priors = legal_priors(row, leaf.legal)
            if leaf is self._root:
                self._expand_root(leaf.priors, value)
                continue
            lose_for_now(path, -self._settings.virtual_loss)
            back_up(path, value)

    @property
    def visits(self) -> Floats:
        """Returns how often each action of the root was tried, [A]; their sum is ``simulations`` in the end."""
        return self._root.visits.copy()

    @property
    def value(self) -> float:
        """Returns the mean outcome that the root's mover expects, in [-1, 1]."""
        return float((self._first_value + self._root.totals.sum()) / (1 + self._root.visits.sum()))

    @property
    def _wants_more(self) -> bool:
        return self._begun < self._settings.simulations and len(self._waiting) < self._settings.batch

    def _scores(self, priors: Floats, visits: Floats, totals: Floats) -> Floats:
        settings = self._settings
        rate = exploration_rate(1 + float(visits.sum()), settings.exploration_init, settings.exploration_base)
        return puct(priors, visits, totals, rate)

    def _expand_root(self, priors: Floats, value: float) -> None:
        self._first_value = value
        if self._noise is not None:
            alpha, share = self._settings.noise_alpha, self._settings.noise_share
            self._root.priors = noisy_priors(priors, self._root.legal, alpha, share, self._noise)


def search(
    root: P, evaluator: Evaluator[P], settings: SearchSettings, noise: np.random.Generator | None = None
) -> Search[P]:
    """Returns a finished search with an evaluator that answers at once; see ``Search``."""
    searched = Search(root, settings, noise)
    while leaves := searched.leaves():
        searched.take(evaluator(leaves))
    return searched
