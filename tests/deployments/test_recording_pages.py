"""Recorded games over HTTP: the list, and the page that plays one."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import orjson
import pytest

from app.errors import BadRequestError, NotFoundError, OverloadedError
from app.wire.http import HttpRequest
from deployments import recording_pages as module
from deployments.recording_pages import RecordingPages
from tests.recordings.played import write_games


def get(path: str, **fields: str) -> HttpRequest:
    return HttpRequest(b"GET", path, fields, b"", True)


@pytest.fixture
async def pages(tmp_path: Path) -> RecordingPages:
    await write_games(tmp_path / "recordings" / "player-1.parquet", [3, 5])
    await write_games(tmp_path / "secret" / "player-2.parquet", [7])
    return RecordingPages(tmp_path, ["recordings", "none-yet"])


async def listed(pages: RecordingPages, **fields: str) -> Any:
    return orjson.loads((await pages.show(get("/recordings", **fields))).body)


async def test_the_newest_recordings_of_the_folders_that_are_recorded_to_are_listed(pages: RecordingPages) -> None:
    found = await listed(pages)
    assert found["folders"] == ["none-yet", "recordings"]
    assert [(one["id"], one["ticks"]) for one in found["recordings"]] == [
        ("recordings/player-1.parquet/1", 5),
        ("recordings/player-1.parquet/0", 3),
    ]
    assert "path" not in found["recordings"][0]
    assert len((await listed(pages, newest="1"))["recordings"]) == 1


@pytest.mark.parametrize("newest", ["0", "501", "", "all", "-1", "9" * 30])
async def test_a_number_of_recordings_that_there_cannot_be_is_refused(pages: RecordingPages, newest: str) -> None:
    with pytest.raises(BadRequestError, match="allowed are 1 to 500"):
        await listed(pages, newest=newest)


async def test_a_recording_is_a_page_that_may_do_nothing_but_play(pages: RecordingPages) -> None:
    reply = await pages.play(get("/recordings/recordings/player-1.parquet/1"))
    assert reply.content_type == b"text/html; charset=utf-8"
    assert b"g1-agent-player" in reply.body
    assert b"sandbox allow-scripts" in dict(reply.headers)[b"Content-Security-Policy"]


@pytest.mark.parametrize(
    "path",
    [
        "secret/player-2.parquet/0",
        "recordings/../secret/player-2.parquet/0",
        "recordings/..%2Fsecret%2Fplayer-2.parquet/0",
        "recordings/player-1.parquet/-1",
        "recordings/player-1.parquet/9999999999",
        "recordings/player-1.parquet",
        "recordings/.hidden.parquet/0",
        "recordings/keys.yaml/0",
        "",
    ],
)
async def test_only_recordings_can_be_named(pages: RecordingPages, path: str) -> None:
    with pytest.raises(BadRequestError, match="with a folder of none-yet, recordings"):
        await pages.play(get(f"/recordings/{path}"))


@pytest.mark.parametrize("path", ["recordings/gone.parquet/0", "recordings/player-1.parquet/9"])
async def test_a_recording_that_is_gone_is_not_found(pages: RecordingPages, path: str) -> None:
    with pytest.raises(NotFoundError, match="cannot be shown"):
        await pages.play(get(f"/recordings/{path}"))


async def test_one_is_read_at_a_time_and_few_wait(pages: RecordingPages, monkeypatch: pytest.MonkeyPatch) -> None:
    go, running, most = threading.Event(), 0, 0

    def slow(*_: object) -> list[Any]:
        nonlocal running, most
        running += 1
        most = max(most, running)
        assert go.wait(10)
        running -= 1
        return []

    monkeypatch.setattr(module, "recordings", slow)
    waiting = [asyncio.create_task(listed(pages)) for _ in range(module.WAITING_MAX)]
    await asyncio.sleep(0)
    with pytest.raises(OverloadedError, match="requests wait for recordings"):
        await listed(pages)
    go.set()
    assert all(found["recordings"] == [] for found in await asyncio.gather(*waiting))
    assert most == 1
