"""The tree of a search: select, and back up."""

from collections.abc import Callable
from typing import Final, Generic

import numpy as np
from numpy.typing import NDArray

from app.planning.game import P
from app.planning.puct import Floats

Scores = Callable[[Floats, Floats, Floats], Floats]
"""Of priors, visits and totals of a node's actions, [A] each, the score of each action, [A]."""


class Node(Generic[P]):
    """A position and what is known of its actions."""

    __slots__ = ("children", "legal", "position", "priors", "totals", "visits")

    def __init__(self, position: P, legal: NDArray[np.bool_] | None = None) -> None:
        """Makes a leaf.

        Args:
          position: Which one.
          legal: Actions to look at, [A]; None looks at all that the position allows.
        """
        self.position: Final = position
        self.legal: Final = position.legal if legal is None else legal
        self.priors: Floats | None = None
        """P(s, a), [A]; None before it is evaluated."""
        self.visits: Final[Floats] = np.zeros(len(self.legal))
        """N(s, a), [A]."""
        self.totals: Final[Floats] = np.zeros(len(self.legal))
        """W(s, a), [A]."""
        self.children: Final[dict[int, Node[P]]] = {}


Path = list[tuple[Node[P], int]]
"""Nodes from the root on, and the action taken in each."""


def select(root: Node[P], scores: Scores) -> tuple[Path[P], Node[P]]:
    """Returns the way along the highest scores to a node that is not evaluated or ends the game, and that node."""
    path: Path[P] = []
    node = root
    while node.priors is not None:
        allowed = np.where(node.legal, scores(node.priors, node.visits, node.totals), -np.inf)
        action = int(allowed.argmax())
        path.append((node, action))
        child = node.children.get(action)
        if child is None:
            child = node.children[action] = Node(node.position.play(action))
        node = child
    return path, node


def back_up(path: Path[P], value: float) -> None:
    """Counts a visit along a path.

    Args:
      path: Which led to a leaf.
      value: Of the leaf, as its mover sees it; whoever moved before sees the opposite.
    """
    for node, action in reversed(path):
        value = -value
        node.visits[action] += 1
        node.totals[action] += value


def lose_for_now(path: Path[P], visits: int) -> None:
    """Counts lost visits along a path, so that others avoid it while its leaf waits; negative ones take them back."""
    for node, action in path:
        node.visits[action] += visits
        node.totals[action] -= visits
