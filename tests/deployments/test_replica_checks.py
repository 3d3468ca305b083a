"""What a replica's checks make of the rows that leave it."""

from collections import Counter
from typing import Any

import pytest

from app.config.root import ExperimentConfig
from app.errors import SourceError
from app.stores.alarms import AlarmStore
from app.types import RowKind
from deployments.alarm_sender import AlarmSender
from deployments.replica_checks import EPISODES_REMEMBERED, ReplicaChecks
from tests.checks.rows import SPEC, rows_of


class Replica:
    """The checks of a replica, with what comes of them."""

    def __init__(self, **checks: Any) -> None:
        self.store, self.counts = AlarmStore(), Counter[str]()
        self.recorded: list[tuple[str, str]] = []
        config = ExperimentConfig.model_validate({"run": {"project": "game", "trial": "one"}, "checks": checks})
        self.sender = AlarmSender(self.store)
        self.checks = ReplicaChecks(
            config, "a", self.sender, self.counts, lambda session, why: self.recorded.append((session, why))
        )


async def test_an_alarm_names_the_session_of_its_episode_and_may_have_the_game_recorded() -> None:
    replica = Replica(fields={"low": {"kind": "range", "field": "reward", "max": 1, "record": True}})
    replica.checks.begun(0, "g-agent-player")
    replica.checks.gate("main", SPEC).passed(rows_of((3, RowKind.FULL)))
    await replica.sender.flush()
    (alarm,) = (await replica.store.told()).alarms
    assert (alarm.session, alarm.source, alarm.model) == ("g-agent-player", "replica a", "main")
    assert replica.recorded == [("g-agent-player", str(alarm))]


def test_the_session_of_an_episode_long_ago_is_not_known_any_more() -> None:
    replica = Replica(fields={"low": {"kind": "range", "field": "reward", "max": 1, "record": True}})
    for episode in range(EPISODES_REMEMBERED + 1):
        replica.checks.begun(episode, f"s{episode}")
    replica.checks.gate("main", SPEC).passed(rows_of((3, RowKind.FULL)))
    assert replica.recorded == []
    assert replica.counts["checks_low"] == 1


def test_a_reference_that_the_mode_does_not_have_is_refused() -> None:
    replica = Replica(fields={"moved": {"kind": "drift", "field": "reward", "reference": "demos"}})
    with pytest.raises(SourceError, match=r"refers to sources\.demos, which does not exist in mode train"):
        replica.checks.gate("main", SPEC)
