"""Keys that change while the doors are in use."""

import asyncio
import json
import logging
import os
from pathlib import Path

import pytest

from app.config.access import AccessConfig
from app.errors import ConfigError, StepError
from app.types import Purpose
from app.wire.step_batches import batch_of
from app.wire.step_fields import step_of
from app.wire.token import sign
from deployments import keys
from deployments.keys import DoorKeeper

NOW = 1_700_000_000.0
SECRET = "swordfish-swordfish"  # noqa: S105  # Of these tests alone.


class Clock:
    """Tells the time, and that keys are loaded: the keeper asks it then alone."""

    def __init__(self) -> None:
        self.now_s = NOW
        self.asked = asyncio.Event()

    def __call__(self) -> float:
        self.asked.set()
        return self.now_s


def write(file: Path, *names: str, **more: object) -> None:
    """Writes keys as an operator should: whole, under another name, then in place of the old ones."""
    entries = [{"name": name, "key": name, "secret": SECRET, **more} for name in names]
    put(file, json.dumps(entries))


def put(file: Path, text: str | None) -> None:
    if text is None:
        file.unlink()
        return
    other = file.with_suffix(".new")
    other.write_text(text)
    other.replace(file)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "keys.json"


def keeper(file: Path, clock: Clock | None = None) -> DoorKeeper:
    return DoorKeeper(AccessConfig(keys_file=str(file)), Purpose.PLAY, clock or Clock())


def fields(key: str, session: str = "g", secret: str = SECRET) -> dict[str, str]:
    time = str(int(NOW))
    return {"session": session, "key": key, "time": time, "token": sign(secret, key, time, session)}


def edit_in_place(file: Path, old: str, new: str) -> None:
    """Changes text to another of the same length, a nanosecond later."""
    before = file.stat()
    file.write_text(file.read_text().replace(old, new))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    assert file.stat().st_size == before.st_size


def refused(got: DoorKeeper, key: str) -> str:
    """Returns the code of a refusal; empty where the step is admitted."""
    try:
        got.doors.admit(step_of(fields(key), b""), NOW)
    except StepError as error:
        return error.code
    return ""


def admits(got: DoorKeeper, key: str) -> bool:
    return not refused(got, key)


async def test_a_changed_file_takes_effect_and_the_status_says_since_when(file: Path) -> None:
    write(file, "one")
    clock = Clock()
    got = keeper(file, clock)
    assert got.status() == {"loaded_at": "2023-11-14T22:13:20+00:00", "keys": 1, "error": None}
    write(file, "two", "three")
    clock.now_s += 60
    await got.look()
    assert (admits(got, "one"), admits(got, "two"), admits(got, "three")) == (False, True, True)
    assert got.status() == {"loaded_at": "2023-11-14T22:14:20+00:00", "keys": 2, "error": None}


async def test_a_file_that_has_not_changed_is_not_read_again(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(file, "one")
    got = keeper(file)
    monkeypatch.setattr(keys, "read_keys", lambda _: pytest.fail("it was read"))
    await got.look()
    assert admits(got, "one")


@pytest.mark.parametrize(
    ("broken", "error"),
    [
        ("", "allowed: a list of keys"),
        ('[{"name": "one", "key": "swordfish', "not valid YAML or JSON"),
        ('[{"name": "two", "key": "swordfish"}]', "keys.0: got a key of 9 characters"),
        (None, "cannot be read: No such file"),
    ],
)
async def test_a_broken_file_leaves_the_keys_as_they_are_and_is_told_once(
    file: Path, broken: str | None, error: str, caplog: pytest.LogCaptureFixture
) -> None:
    write(file, "one")
    got = keeper(file)
    put(file, broken)
    for _ in range(3):
        await got.look()
    assert admits(got, "one")
    assert error in str(got.status()["error"])
    assert got.status()["keys"] == 1
    (record,) = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert error in record.getMessage()
    write(file, "two")
    await got.look()
    assert (admits(got, "one"), admits(got, "two"), got.status()["error"]) == (False, True, None)
    assert "swordfish" not in caplog.text


async def test_a_change_in_place_of_the_same_size_is_seen(file: Path) -> None:
    write(file, "one")
    got = keeper(file)
    edit_in_place(file, "one", "two")
    await got.look()
    assert (admits(got, "one"), admits(got, "two")) == (False, True)


async def test_the_watch_takes_up_changes_until_it_is_ended(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "POLL_S", 0.001)
    write(file, "one")
    clock = Clock()
    got = keeper(file, clock)
    clock.asked.clear()
    (work,) = got.work()
    task = asyncio.create_task(work)
    write(file, "two")
    async with asyncio.timeout(5):
        await clock.asked.wait()
    assert admits(got, "two")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_keys_that_cannot_be_read_keep_the_replica_from_starting(file: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        keeper(file)


def test_where_no_keys_are_configured_the_doors_are_open_and_nothing_is_watched() -> None:
    got = DoorKeeper(AccessConfig(), Purpose.PLAY)
    assert not got.doors.guarded
    assert got.status() == {}
    assert got.work() == []


def test_keys_of_the_environment_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GAME_KEYS", json.dumps([{"name": "one", "key": "one", "secret": SECRET}]))
    got = DoorKeeper(AccessConfig(keys_env="GAME_KEYS"), Purpose.PLAY)
    assert admits(got, "one")
    assert got.work() == []


def test_a_rate_without_a_burst_may_be_used_within_one_second(file: Path) -> None:
    write(file, "one", quota={"steps_per_s": 3})
    got = keeper(file)
    assert [refused(got, "one") for _ in range(4)] == ["", "", "", "overloaded"]


def test_a_batch_is_admitted_under_the_token_of_no_session(file: Path) -> None:
    write(file, "one", quota={"steps_per_s": 60})
    got = keeper(file)
    steps = batch_of(
        fields("one", ""), json.dumps([{"session": f"g{at}", "kind": "start"} for at in range(64)]).encode()
    )
    codes = []
    for step in steps:
        try:
            got.doors.admit(step, NOW)
            codes.append("")
        except StepError as error:
            codes.append(error.code)
    assert codes == [""] * 60 + ["overloaded"] * 4


def test_refusals_are_logged_by_name_and_reason_without_secrets(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(file, "one")
    got = keeper(file)
    for _ in range(5):
        with pytest.raises(StepError):
            got.doors.admit(step_of({**fields("one"), "token": "swordfish"}, b""), NOW)
        with pytest.raises(StepError):
            got.doors.admit(step_of({"key": "swordfish\nforged line", "session": "g"}, b""), NOW)
    told = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert [text.partition(": the key")[0] for text in told] == [
        "refused: key=one reason=credentials count=1",
        "refused: key=(none) reason=credentials count=1",
    ]
    assert not any("swordfish" in text or "\n" in text for text in told)
