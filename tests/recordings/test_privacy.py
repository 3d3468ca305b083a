"""Private fields never reach the disk."""

from pathlib import Path

import orjson
import pytest
from pyarrow import parquet

from app.recordings.privacy import Privacy
from app.recordings.reading import read_episode
from tests.recordings.played import Service


def changed(privacy: Privacy, value: object) -> object:
    body = privacy.body(orjson.dumps(value))
    return None if body is None else orjson.loads(body)


def test_a_field_is_removed_wherever_its_path_leads() -> None:
    privacy = Privacy(["player.name", "chat", "units.owner"])
    value = {
        "player": {"name": "Ann", "level": 3},
        "chat": ["hi"],
        "units": [{"owner": "Ann", "x": 1}, {"x": 2}],
        "hp": 1,
    }
    assert changed(privacy, value) == {"player": {"level": 3}, "units": [{"x": 1}, {"x": 2}], "hp": 1}
    assert changed(privacy, ["Ann"]) == ["Ann"]
    assert changed(privacy, None) is None


def test_equal_values_have_equal_hashes_under_one_key_alone() -> None:
    privacy = Privacy(hashed=["player"], key=b"secret")
    one, two = (changed(privacy, {"player": {"id": 1, "at": [number]}}) for number in (1, 1))
    other = changed(privacy, {"player": {"id": 2, "at": [1]}})
    elsewhere = changed(Privacy(hashed=["player"], key=b"another"), {"player": {"id": 1, "at": [1]}})
    assert one == two
    assert len({str(each) for each in (one, other, elsewhere)}) == 3
    assert "at" not in str(one)


def test_of_a_body_whose_fields_are_unknown_nothing_is_left() -> None:
    assert Privacy(["a"], json=False).body(b"\x01\x02") is None
    assert Privacy(["a"]).body(b"{broken") is None
    assert Privacy(json=False).body(b"\x01\x02") == b"\x01\x02"


@pytest.mark.parametrize(
    ("path", "column", "passes"),
    [
        ("observation.units", "observation/units", False),
        ("observation", "observation/units/0", False),
        ("observation.units", "observation/map", True),
        ("obs", "observation", True),
    ],
)
def test_a_column_goes_with_the_field_of_its_name(path: str, column: str, *, passes: bool) -> None:
    assert Privacy([path]).lets_pass(column) is passes
    assert Privacy(hashed=[path]).lets_pass(column) is passes


async def test_a_file_holds_nothing_private(tmp_path: Path) -> None:
    service = Service()
    await service.start("secret-game-agent-player", {"greedy": False})
    await service.tick(0, "secret-game-agent-player", player="Ann Smith")
    await service.stop(1, "secret-game-agent-player")
    privacy = Privacy(["player", "observation"], ["session", "game"], b"key")
    path = service.write(tmp_path / "player.parquet", privacy)
    episode = read_episode(path, 0)
    assert episode.ticks[0].input_json() == {"reward": 0}
    assert episode.ticks[0].observation == {}
    assert (len(episode.session), len(episode.game)) == (32, 32)
    whole = str(parquet.read_table(path).to_pydict())
    assert "Ann" not in whole
    assert "secret-game" not in whole


def test_an_error_keeps_its_code_alone() -> None:
    assert Privacy(["a"]).error("bad_payload: a is 'Ann'") == "bad_payload"
    assert Privacy().error("bad_payload: a is 'Ann'") == "bad_payload: a is 'Ann'"
