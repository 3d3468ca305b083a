"""JSON lines of trajectories or of steps."""

from pathlib import Path

import orjson
import pytest

from app.errors import SourceError
from app.sources.fitting import fields_of
from app.sources.formats.jsonl import JsonlShard
from app.sources.trajectory import trajectory
from tests.sources.made import NESTED, episode

from .rows import assert_equal, expected, read, table


def written(folder: Path, *lines: object) -> Path:
    path = folder / "demos.jsonl"
    path.write_bytes(b"\n".join(orjson.dumps(line, option=orjson.OPT_SERIALIZE_NUMPY) for line in lines))
    return path


def test_a_line_is_a_trajectory(tmp_path: Path) -> None:
    path = written(tmp_path, episode(3, 0), episode(1, 1, terminated=False) | {"terminated": False, "truncated": True})
    assert_equal(read(JsonlShard(path, {})), expected())


def test_a_line_is_a_step_where_its_reward_is_one_number(tmp_path: Path) -> None:
    columns = table()
    lines = [{name: column[at] for name, column in columns.items()} for at in range(4)]
    assert_equal(read(JsonlShard(written(tmp_path, *lines), {})), expected())


def test_other_names_are_read_as_ours(tmp_path: Path) -> None:
    other = {"observation": "obs", "action": "a", "reward": "r", "terminated": "done"}
    lines = [
        {other.get(name, name): value for name, value in each.items()}
        for each in (episode(3, 0), episode(1, 1, terminated=False))
    ]
    assert_equal(read(JsonlShard(written(tmp_path, *lines), other)), expected())


def test_nested_observations_are_objects_whose_keys_may_be_places(tmp_path: Path) -> None:
    line = {
        "observation": {"map": [[[[1]] * 3] * 2] * 2, "units": {"0": [[1, 2], [3, 4]], "1": [5, 6]}},
        "action": {"move": [3], "push": [[0.5, -0.5]]},
        "reward": [1],
        "terminated": True,
    }
    (stored,) = JsonlShard(written(tmp_path, line), {})
    rows = trajectory(stored, fields_of(NESTED), 0)
    assert rows is not None
    assert rows["observation/units/0"].tolist() == [[1, 2], [3, 4]]
    assert rows["observation/map"].shape == (2, 2, 3, 1)
    assert rows["action_mask/move"].tolist() == [[1, 1, 1, 1]] * 2
    assert rows["action/push"].tolist() == [[0.5, -0.5]] * 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"reward": [1]}\n{"reward": [', "demos.jsonl, line 2: "),
        (b"3", "line 1: got int; allowed is a mapping"),
        (b'{"reward": [1], "observation": [[1], [2, 3]]}', "observation has rows of several shapes"),
        (b'{"reward": 1, "action": 1}\n{"reward": 1}', "row 1: got reward; allowed is what the rows before it have"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(tmp_path: Path, text: bytes, message: str) -> None:
    path = tmp_path / "demos.jsonl"
    path.write_bytes(text)
    with pytest.raises(SourceError) as refused:
        list(JsonlShard(path, {}))
    assert message in str(refused.value)
