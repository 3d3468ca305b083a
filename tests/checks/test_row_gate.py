import math
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest

from app.checks.making import row_checks
from app.checks.row_gate import Place, RowGate
from app.config.checks import ChecksConfig
from app.errors import ConfigError
from app.types import RowKind
from tests.checks.rows import SPEC, rows_of

if TYPE_CHECKING:
    from app.checks.alarm import Alarm

STEP, FULL, LOST = RowKind.STEP, RowKind.FULL, RowKind.LOST


class Opened:
    """A gate with what it tells."""

    def __init__(self, **checks: object) -> None:
        self.counts: Counter[str] = Counter()
        self.told: "list[Alarm]" = []
        config = ChecksConfig.model_validate(checks)
        place = Place("main", "replica a", {0: "left", 1: "right"}.get)
        self.gate = RowGate(row_checks(config, "main", SPEC), place, self.counts, self.told.append)


def test_rows_that_are_right_pass_as_they_are() -> None:
    opened = Opened()
    rows = rows_of((3, FULL))
    assert opened.gate.passed(rows) is rows
    assert not opened.counts
    assert not opened.told


def test_by_default_a_step_that_is_not_finite_is_dropped_counted_and_told_of_with_tick_session_field_and_value() -> (
    None
):
    opened = Opened()
    rows = rows_of((3, FULL), (4, FULL))
    rows["reward"][6] = math.inf
    left = opened.gate.passed(rows)
    assert left["kind"].tolist() == [STEP] * 3 + [FULL] + [STEP, STEP, LOST, STEP, FULL]
    assert np.isfinite(left["reward"]).all()
    assert opened.counts == {"checks_finite": 1, "rows_dropped_check_finite": 1, "rows_dropped_check_cut": 0}
    (alarm,) = opened.told
    assert (alarm.session, alarm.tick, alarm.field, alarm.value) == ("right", 2, "reward", math.inf)
    assert str(alarm) == ("check finite: reward is inf at tick 2 of session right, allowed: finite numbers")


def test_a_spoilt_observation_costs_the_step_before_as_well_which_is_counted_apart() -> None:
    opened = Opened()
    rows = rows_of((4, FULL))
    rows["observation"][2, 1] = math.nan
    left = opened.gate.passed(rows)
    assert left["tick"].tolist() == [0, 1, 3, 4]
    assert np.isfinite(left["observation"]).all()
    assert opened.counts == {"checks_finite": 1, "rows_dropped_check_finite": 1, "rows_dropped_check_cut": 1}
    assert (opened.told[0].field, opened.told[0].element) == ("observation", 1)


def test_a_row_that_two_checks_drop_is_counted_once() -> None:
    opened = Opened(fields={"small": {"kind": "range", "field": "reward", "max": 1, "action": "drop"}})
    rows = rows_of((4, FULL))
    rows["reward"][3] = math.nan
    opened.gate.passed(rows)  # Rewards are 0, 1, 2, nan.
    assert opened.counts["rows_dropped_check_finite"] == 1
    assert opened.counts["rows_dropped_check_small"] == 1
    assert opened.counts["checks_small"] == 2


def test_to_count_tells_nobody_and_to_warn_drops_nothing() -> None:
    checks = {
        "counted": {"kind": "range", "field": "reward", "max": 1, "action": "count"},
        "warned": {"kind": "range", "field": "observation", "max": 5, "action": "warn", "record": True},
    }
    opened = Opened(fields=checks)
    rows = rows_of((3, FULL))
    assert opened.gate.passed(rows) is rows
    assert opened.counts == {"checks_counted": 1, "checks_warned": 1}
    (alarm,) = opened.told
    assert (alarm.check, alarm.action, alarm.record, alarm.tick) == ("warned", "warn", True, 3)


def test_rows_that_are_no_steps_have_no_reward_to_be_outside_of_a_range() -> None:
    opened = Opened(fields={"positive": {"kind": "range", "field": "value", "min": 1, "action": "drop"}})
    rows = rows_of((3, FULL))
    assert opened.gate.passed(rows) is rows


def test_a_run_of_the_same_observation_does_not_go_on_in_another_trajectory() -> None:
    opened = Opened(fields={"frozen": {"kind": "stuck", "field": "observation", "rows": 5}})
    rows = rows_of((3, FULL), (3, FULL))
    rows["observation"][:] = 1
    opened.gate.passed(rows)
    assert not opened.told
    rows = rows_of((6, FULL))
    rows["observation"][:] = 1
    opened.gate.passed(rows)
    assert opened.told[0].tick == 4


def test_a_field_that_the_rows_do_not_have_is_named_with_those_that_they_have() -> None:
    config = ChecksConfig.model_validate({"fields": {"hp": {"kind": "range", "field": "observation/hp", "min": 0}}})
    with pytest.raises(ConfigError) as caught:
        row_checks(config, "main", SPEC)
    assert str(caught.value) == (
        "checks.fields.hp.field is 'observation/hp', which the model's rows do not have; allowed are observation, "
        "action, reward, log_prob, value"
    )


def test_without_checks_nothing_is_looked_at() -> None:
    opened = Opened(finite={"rows": None})
    rows = rows_of((3, FULL))
    rows["reward"][:] = math.nan
    assert opened.gate.passed(rows) is rows


def test_to_look_tells_and_counts_and_drops_nothing() -> None:
    opened = Opened()
    rows = rows_of((3, FULL))
    rows["reward"][1] = math.nan
    opened.gate.look(rows)
    assert [alarm.tick for alarm in opened.told] == [1]
    assert opened.counts == {"checks_finite": 1}
