import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from app.replay.min_tree import MinTree


def test_the_lowest_are_found_among_a_million_and_follow_changes() -> None:
    tree = MinTree(1_000_003)
    tree.set(np.arange(1_000_003), np.arange(1_000_003, dtype=float))
    tree.set(np.array([0, 1_000_002]), np.array([2e6, -1.0]))
    assert sorted(tree.lowest(3).tolist()) == [1, 2, 1_000_002]
    tree.set(np.array([1]), np.inf)
    assert sorted(tree.lowest(3).tolist()) == [2, 3, 1_000_002]
    assert tree.root == -1.0


def test_an_empty_tree_has_no_lowest() -> None:
    assert MinTree(5).lowest(2).tolist() == []


@given(st.lists(st.integers(0, 9) | st.none(), min_size=1, max_size=400), st.integers(1, 60))
def test_the_lowest_are_those_of_a_sorted_list(numbers: list[int | None], count: int) -> None:
    tree = MinTree(len(numbers))
    tree.set(np.arange(len(numbers)), np.array([np.inf if n is None else float(n) for n in numbers]))
    held = sorted(number for number in numbers if number is not None)
    leaves = tree.lowest(count).tolist()
    assert len(set(leaves)) == len(leaves)
    assert sorted(numbers[leaf] for leaf in leaves) == held[:count]  # type: ignore[type-var]
