"""What a file of any kind must give for the two episodes that the tests write."""

import numpy as np

from app.sources.fitting import fields_of
from app.sources.stored import Columns, Shard, Stored
from app.sources.trajectory import trajectory
from app.types import Rows
from tests.sources.made import FLAT, episode


def read(shard: Shard) -> list[Rows]:
    """Returns a shard's trajectories for ``FLAT``; twice, since a shard can be read again."""
    first, again = ([trajectory(stored, fields_of(FLAT), at) for at, stored in enumerate(shard)] for _ in range(2))
    assert str(first) == str(again)
    return [rows for rows in first if rows is not None]


def expected() -> list[Rows]:
    """Returns the trajectories of a terminated episode of three steps, and of a truncated one of one step."""
    stored = [episode(3, 0), episode(1, 1, terminated=False)]
    found = [trajectory(Stored(columns, ""), fields_of(FLAT), at) for at, columns in enumerate(stored)]
    return [rows for rows in found if rows is not None]


def table() -> Columns:
    """Returns the same episodes as steps behind one another, with the state that each reached."""
    parts = [episode(3, 0), episode(1, 1, terminated=False)]
    for part in parts:
        part["next_observation"] = part["observation"][1:]
        part["observation"] = part["observation"][:-1]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def assert_equal(got: list[Rows], wanted: list[Rows]) -> None:
    assert len(got) == len(wanted)
    for one, other in zip(got, wanted, strict=True):
        for name in other:
            np.testing.assert_array_equal(one[name], other[name], err_msg=name)
