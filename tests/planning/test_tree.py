"""Signs and counts along a path."""

import numpy as np

from app.planning.tree import Node, back_up, lose_for_now, select
from tests.planning.nim import Nim


def grown() -> tuple[Node[Nim], Node[Nim], Node[Nim]]:
    """Returns a root of seven matches, its child and its grandchild behind taking one match each."""
    root, child, grandchild = Node(Nim(7)), Node(Nim(6)), Node(Nim(5))
    for node, below in ((root, child), (child, grandchild)):
        node.priors = np.full(3, 1 / 3)
        node.children[0] = below
    return root, child, grandchild


def test_a_value_is_seen_by_the_leafs_mover_and_turns_at_each_step_up() -> None:
    root, child, _ = grown()
    back_up([(root, 0), (child, 0)], 0.75)
    assert (child.visits.tolist(), child.totals.tolist()) == ([1, 0, 0], [-0.75, 0, 0])
    assert (root.visits.tolist(), root.totals.tolist()) == ([1, 0, 0], [0.75, 0, 0])


def test_lost_visits_are_taken_back_without_a_trace() -> None:
    root, child, _ = grown()
    path = [(root, 0), (child, 0)]
    lose_for_now(path, 3)
    assert (root.visits[0], root.totals[0], child.visits[0], child.totals[0]) == (3, -3, 3, -3)
    lose_for_now(path, -3)
    assert not any(array.any() for node in (root, child) for array in (node.visits, node.totals))


def test_selection_follows_the_largest_legal_score_to_a_leaf() -> None:
    root, child, grandchild = grown()
    path, leaf = select(root, lambda priors, *_: priors * [3, 2, 1])
    assert leaf is grandchild
    assert path == [(root, 0), (child, 0)]


def test_a_new_child_is_made_once() -> None:
    root, _, _ = grown()
    path, leaf = select(root, lambda *_: np.array([0.0, 1, 2]))
    assert (path, leaf.position) == ([(root, 2)], Nim(4))
    assert select(root, lambda *_: np.array([0.0, 1, 2]))[1] is leaf


def test_what_is_not_legal_is_passed_over_however_high_it_scores() -> None:
    root: Node[Nim] = Node(Nim(2))
    root.priors = np.array([0.5, 0.5, 0])
    path, leaf = select(root, lambda *_: np.array([1.0, 2, 9]))
    assert (path[0][1], leaf.position.over) == (1, True)
