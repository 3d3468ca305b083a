import math

import numpy as np
import pytest

from app.agents.fields import number_at, number_of
from app.games.arena.arena_pb2 import Control, Entity, StopInput, TickInput


@pytest.mark.parametrize(
    ("path", "number"),
    [
        ("reward", 1.5),
        ("me.alive", 1.0),
        ("me.items.1", 7.0),
        ("me.items.2", None),
        ("me.items.-1", None),
        ("me", None),
        ("me.name", None),
        ("me.name.0", None),
        ("reward.0", None),
        ("nothing.at.all", None),
    ],
)
def test_a_path_leads_to_a_number_of_a_json_payload(path: str, number: float | None) -> None:
    assert number_at({"reward": 1.5, "me": {"alive": True, "items": [5, 7], "name": "7"}}, path) == number


@pytest.mark.parametrize(
    ("path", "number"),
    [
        ("last.reward", -0.5),
        ("last.entities.1.health", 9.0),
        ("last.controls.0.legal.1", 1.0),
        ("last.entities.2.health", None),
        ("last.tick", None),  # Optional, and not set.
        ("last.width", 0.0),  # Without presence.
        ("last.unknown", None),
        ("last", None),
        ("terminated", 0.0),
    ],
)
def test_a_path_leads_to_a_number_of_a_message(path: str, number: float | None) -> None:
    last = TickInput(reward=-0.5, entities=[Entity(), Entity(health=9)], controls=[Control(legal=[False, True])])
    assert number_at(StopInput(last=last), path) == number


def test_a_message_that_is_not_set_has_no_numbers() -> None:
    assert number_at(StopInput(), "last.width") is None


@pytest.mark.parametrize("payload", [None, b"reward", "reward", 3])
def test_other_payloads_have_no_fields(payload: object) -> None:
    assert number_at(payload, "reward") is None


def test_numbers_of_numpy_and_huge_ones_are_numbers() -> None:
    assert [number_of(value) for value in (np.float32(0.5), np.int64(3), np.True_, 10**400)] == [0.5, 3, 1, math.inf]
