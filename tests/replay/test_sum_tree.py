import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.replay.sum_tree import SumTree

VECTORS = json.loads((Path(__file__).parent.parent / "vectors/sum_tree.json").read_text())

amounts = st.lists(st.floats(0, 1e6) | st.just(0.0), min_size=1, max_size=300)


def tree_of(leaves: list[float]) -> SumTree:
    tree = SumTree(len(leaves))
    tree.set(np.arange(len(leaves)), np.array(leaves, float))
    return tree


@pytest.mark.parametrize("case", [case for case in VECTORS["prefixsum"] if "queries" in case])
def test_masses_fall_where_outside_tests_say(case: dict[str, list[list[float]]]) -> None:
    masses, expected = zip(*case["queries"], strict=True)
    assert tree_of(case["leaves"]).find(np.array(masses)).tolist() == list(expected)  # type: ignore[arg-type]


@pytest.mark.parametrize("case", [case for case in VECTORS["prefixsum"] if "counts" in case])
def test_every_whole_mass_falls_on_a_leaf_as_often_as_the_leaf_is_large(case: dict[str, list[float]]) -> None:
    tree = tree_of(case["leaves"])
    found = tree.find(np.arange(int(tree.root), dtype=float))
    assert np.bincount(found).tolist() == case["counts"]


def test_the_sum_of_a_million_leaves_follows_every_change() -> None:
    tree = SumTree(1_000_003)
    tree.set(np.arange(1_000_003), 1.0)
    tree.set(np.array([0, 999_999, 1_000_002]), np.array([5.0, 0.0, 7.0]))
    assert tree.root == 1_000_003 + 4 - 1 + 6
    assert tree.find(np.array([0.0, 4.5, 5.5, tree.root - 7.5, tree.root - 6.5, tree.root])).tolist() == [
        0, 0, 1, 1_000_001, 1_000_002, 1_000_002,
    ]  # fmt: skip


def test_where_a_leaf_is_set_twice_the_last_number_counts_in_every_sum() -> None:
    tree = SumTree(3)
    tree.set(np.array([1, 1, 2]), np.array([9.0, 2.0, 1.0]))
    assert tree.root == 3.0
    assert tree.get(np.array([0, 1, 2])).tolist() == [0.0, 2.0, 1.0]


def test_changes_leave_no_rounding_behind() -> None:
    tree = tree_of([1e-9] * 40)
    before = tree.root
    tree.set(np.array([3]), 1e9)
    tree.set(np.array([3]), 1e-9)
    assert tree.root == before


@given(amounts, st.lists(st.floats(0, 1), min_size=1, max_size=50))
def test_a_mass_falls_where_the_running_sum_passes_it_and_never_on_nothing(
    leaves: list[float], shares: list[float]
) -> None:
    tree, sums = tree_of(leaves), np.cumsum(leaves)
    if not tree.root > 0:
        with pytest.raises(ValueError, match="needs a leaf above 0"):
            tree.find(np.array(shares))
        return
    masses = np.array(shares) * tree.root
    slack = 1e-9 * tree.root
    for mass, leaf in zip(masses, tree.find(masses), strict=True):
        assert leaves[leaf] > 0
        assert sums[leaf] - leaves[leaf] - slack <= mass <= sums[leaf] + slack


@given(st.integers(1, 40), st.lists(st.tuples(st.integers(0, 39), st.floats(0, 1e6)), max_size=60))
def test_a_tree_depends_on_its_leaves_and_not_on_the_changes_before(
    size: int, changes: list[tuple[int, float]]
) -> None:
    tree, leaves = SumTree(size), [0.0] * size
    for leaf, number in changes:
        tree.set(np.array([leaf % size]), number)
        leaves[leaf % size] = number
    assert tree.root == tree_of(leaves).root


def test_a_tree_without_leaves_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1 leaf, got 0"):
        SumTree(0)
