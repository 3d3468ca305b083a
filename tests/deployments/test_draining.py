"""What is drained, and until when."""

import pytest

from deployments.operate.draining import DrainError, Node, living_nodes, node_at, wait_until_left

NODES = [Node("a", "10.0.0.1"), Node("b", "10.0.0.2")]


def test_without_an_address_this_machine_is_meant() -> None:
    assert node_at(None, "b", NODES) == NODES[1]


def test_an_address_names_another_node() -> None:
    assert node_at("10.0.0.1", "b", NODES) == NODES[0]


def test_an_address_that_no_node_has_is_told_with_those_that_there_are() -> None:
    with pytest.raises(DrainError, match=r"--node 10\.0\.0\.9 is 0 nodes .* allowed: one of 10\.0\.0\.1, 10\.0\.0\.2"):
        node_at("10.0.0.9", "b", NODES)


def test_an_address_that_two_nodes_share_is_refused() -> None:
    with pytest.raises(DrainError, match="is 2 nodes"):
        node_at("10.0.0.1", "b", [*NODES, Node("c", "10.0.0.1")])


def test_dead_nodes_do_not_count() -> None:
    listed = [
        {"NodeID": "a", "NodeManagerAddress": "10.0.0.1", "Alive": False},
        {"NodeID": "b", "NodeManagerAddress": "10.0.0.2", "Alive": True},
    ]
    assert living_nodes(listed) == [NODES[1]]


def test_a_drain_ends_when_the_last_replica_has_left() -> None:
    left = [["actor-main x", "actor-main y"], ["actor-main y"], []]
    wait_until_left(NODES[0], 5, lambda: left.pop(0))
    assert left == []


def test_a_replica_that_stays_is_named() -> None:
    with pytest.raises(DrainError, match=r"10\.0\.0\.1 there still are actor-main x after 0 s"):
        wait_until_left(NODES[0], 0, lambda: ["actor-main x"])
