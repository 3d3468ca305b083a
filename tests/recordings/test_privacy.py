"""Private fields never reach the disk."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from google.protobuf import descriptor_pb2
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from app.games.arena.agents import ArenaAgent
from app.games.arena.arena_pb2 import Entity, StopInput, TickInput
from app.recordings.privacy import Privacy
from app.recordings.reading import read_episode
from app.types import StepKind
from app.wire.payload import BytesCodec, ProtoCodec, bare_codec
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
    assert Privacy(["a"], codec=BytesCodec()).body(b"\x01\x02") is None
    assert Privacy(["a"]).body(b"{broken") is None
    assert Privacy(codec=BytesCodec()).body(b"\x01\x02") == b"\x01\x02"


def test_fields_of_messages_are_removed_and_hashed() -> None:
    codec = bare_codec(ArenaAgent)
    tick = TickInput(width=8, entities=[Entity(id=1, x=3), Entity(id=2, x=4)], reward=2.5)
    privacy = Privacy(["entities.x", "nothing.at.all"], ["reward"], b"k", codec)
    body = privacy.body(tick.SerializeToString(), "tick", "input")
    assert body is not None
    left = TickInput.FromString(body)
    assert [(entity.id, entity.x) for entity in left.entities] == [(1, 0), (2, 0)]
    assert (left.width, left.reward) == (8, 0)  # A number holds no hash.
    stop = privacy.body(StopInput(last=tick, terminated=True).SerializeToString(), "stop", "input")
    assert stop is not None
    assert StopInput.FromString(stop).terminated
    assert privacy.body(b'{"reward":1}', "start", "input") != b'{"reward":1}'
    assert privacy.body(b"\xff\xff", "tick", "input") is None


def test_texts_of_messages_are_hashed_one_by_one() -> None:
    proto = descriptor_pb2.FileDescriptorProto
    codec = ProtoCodec({StepKind.TICK: proto}, {})
    given = proto(name="secret", dependency=["one", "two"], message_type=[descriptor_pb2.DescriptorProto(name="in")])
    privacy = Privacy(hashed=["name", "dependency", "message_type.name"], key=b"k", codec=codec)
    left = proto.FromString(privacy.body(given.SerializeToString()) or b"")
    texts = [left.name, *left.dependency, left.message_type[0].name]
    assert len(set(texts)) == 4
    assert {len(text) for text in texts} == {32}


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


NAMES = st.sampled_from(["a", "b", "c"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=12,
)


@given(VALUES, st.lists(NAMES, min_size=1, max_size=3))
def test_no_way_along_a_removed_path_finds_anything(value: object, path: list[str]) -> None:
    assert list(reached(changed(Privacy([".".join(path)]), value), path)) == []
    hashed = list(reached(changed(Privacy(hashed=[".".join(path)], key=b"k"), value), path))
    assert len(hashed) == len(list(reached(value, path)))
    assert all(isinstance(one, str) and len(one) == 32 for one in hashed)


def reached(value: Any, path: list[str]) -> Iterator[Any]:
    """Yields what a path leads to, through lists."""
    if isinstance(value, list):
        for item in value:
            yield from reached(item, path)
    elif not path:
        yield value
    elif isinstance(value, dict) and path[0] in value:
        yield from reached(value[path[0]], path[1:]) if len(path) > 1 else [value[path[0]]]
