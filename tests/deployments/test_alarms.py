"""Alarms on their way from a replica to whoever asks, and the store between them."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace

import orjson
import pytest
from ray.exceptions import RayActorError

from app.checks.alarm import Alarm
from app.errors import OverloadedError
from app.stores.alarms import AlarmStore, Told
from app.wire.http import HttpRequest
from deployments.alarm_pages import AlarmPages
from deployments.alarm_sender import AlarmSender
from deployments.operate.alarm_commands import lines
from deployments.replica_checks import age_alarms
from tests.checks.test_alarm import ONE

REQUEST = HttpRequest(b"GET", "/alarms", {}, b"", True)


class Shaky:
    """A store that is away for a while."""

    def __init__(self, away: int) -> None:
        self.store = AlarmStore()
        self._away = away

    async def report(self, alarms: Sequence[Alarm]) -> None:
        self._away -= 1
        if self._away >= 0:
            raise RayActorError
        await self.store.report(alarms)

    async def told(self) -> Told:
        raise RayActorError


async def test_what_a_replica_tells_is_shown_once_the_store_has_it_although_it_was_away() -> None:
    shaky = Shaky(away=1)
    sender = AlarmSender(shaky)
    sender.tell(ONE)
    await sender.flush()
    sender.tell(replace(ONE, times=2))
    await sender.flush()
    await sender.flush()
    shown = orjson.loads((await AlarmPages(shaky.store).show(REQUEST)).body)
    assert [(alarm["check"], alarm["times"]) for alarm in shown["alarms"]] == [("hp", 5)]
    assert shown["forgotten"] == 0


async def test_it_sends_for_as_long_as_it_runs() -> None:
    store = AlarmStore()
    sender = AlarmSender(store)
    sender.tell(ONE)
    running = asyncio.create_task(sender.run())
    async with asyncio.timeout(10):
        while not (await store.told()).alarms:  # noqa: ASYNC110  # The store has no event of its own.
            await asyncio.sleep(0.01)
    running.cancel()
    await asyncio.wait([running], timeout=10)


def test_the_first_alarm_of_a_check_and_field_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    sender = AlarmSender(AlarmStore())
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            sender.tell(ONE)
    assert [record.getMessage() for record in caplog.records] == [str(ONE)]


async def test_a_store_that_does_not_answer_is_told_of() -> None:
    with pytest.raises(OverloadedError, match="the store of alarms does not answer"):
        await AlarmPages(Shaky(0)).show(REQUEST)


async def test_training_is_stopped_by_an_alarm_of_its_model_since_it_began() -> None:
    store = AlarmStore()
    await store.report([ONE])
    assert await store.stopping("main", 0.0) is None
    stop = replace(ONE, action="stop", time_s=100.0)
    await store.report([stop])
    assert await store.stopping("main", 50.0) == stop
    assert await store.stopping("main", 101.0) is None
    assert await store.stopping("other", 50.0) is None


def test_weights_that_are_too_old_are_an_alarm() -> None:
    ages = {"main": 61.0, "fresh": 59.0, "never": None}
    (alarm,) = age_alarms(ages, 60.0, "replica a", 5.0)
    assert str(alarm) == "check weights_age_s: weights of main is 61, allowed: an age of at most 60 s"


def test_alarms_are_shown_as_lines() -> None:
    told = list(lines("game.one", [replace(ONE, details=("a.py:3",))], 30.0))
    assert told == [f"20 s ago, replica a (model main), drop: {ONE}", "    a.py:3"]
    assert list(lines("game.one", [], 0.0)) == ["no check of game.one has found anything"]
