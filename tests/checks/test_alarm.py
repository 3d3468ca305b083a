import math
from dataclasses import replace

import orjson

from app.checks.alarm import ALARMS_MAX, Alarm, Alarms

ONE = Alarm(
    check="hp", kind="range", action="drop", model="main", source="replica a", field="observation/hp", value=130.0,
    allowed="0 to 100", time_s=10.0, first_s=10.0, times=3, element=2, session="s", tick=17,
)  # fmt: skip


def test_it_tells_tick_session_field_value_and_what_is_allowed() -> None:
    assert str(ONE) == ("check hp: observation/hp[2] is 130 at tick 17 of session s, allowed: 0 to 100, 3 times")
    update = replace(ONE, element=None, session=None, tick=None, update=9, times=1, field="metrics/loss")
    assert str(update) == "check hp: metrics/loss is 130 at update 9, allowed: 0 to 100"


def test_a_value_that_is_not_finite_is_text_in_json() -> None:
    found = orjson.loads(orjson.dumps(replace(ONE, value=math.nan).as_dict()))
    assert found["value"] == "nan"
    assert found["message"].startswith("check hp: observation/hp[2] is nan")
    assert ONE.as_dict()["value"] == 130


def test_alarms_of_a_check_and_field_add_up_and_the_newest_is_the_example() -> None:
    alarms = Alarms()
    alarms.add([ONE, replace(ONE, field="reward")])
    alarms.add([replace(ONE, time_s=20.0, first_s=20.0, times=4, tick=99)])
    newest, other = alarms.newest()
    assert (newest.times, newest.first_s, newest.time_s, newest.tick) == (7, 10, 20, 99)
    assert other.field == "reward"


def test_the_alarm_that_was_raised_least_recently_makes_room() -> None:
    alarms = Alarms()
    for number in range(ALARMS_MAX):
        alarms.add([replace(ONE, check=f"c{number}")])
    alarms.add([replace(ONE, check="c0"), replace(ONE, check="new")])
    kept = {alarm.check for alarm in alarms.newest()}
    assert len(kept) == ALARMS_MAX
    assert {"c0", "new"} <= kept
    assert "c1" not in kept
    assert alarms.forgotten == 1


def test_what_is_taken_is_gone() -> None:
    alarms = Alarms()
    alarms.add([ONE])
    assert alarms.take() == [ONE]
    assert alarms.take() == []
