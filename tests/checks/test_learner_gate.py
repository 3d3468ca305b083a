import math

import numpy as np
import pytest

from app.checks.learner_gate import MISSED_MAX, LearnerGate
from app.config.checks import ChecksConfig
from app.errors import ConfigError


def gate(**checks: object) -> LearnerGate:
    return LearnerGate(ChecksConfig.model_validate(checks), "main", "net")


def test_by_default_a_loss_that_is_not_finite_is_told_of_with_update_and_name() -> None:
    alarms = gate().metrics(7, {"loss_policy": math.nan, "demos/loss_value": 0.5, "explained_variance": math.nan})
    (alarm,) = alarms
    assert (alarm.field, alarm.update, alarm.action) == ("metrics/loss_policy", 7, "warn")
    assert str(alarm) == "check finite: metrics/loss_policy is nan at update 7, allowed: finite numbers"


def test_by_default_weights_that_are_not_finite_stop_training() -> None:
    fine = {"layer.weight": np.ones((2, 3), np.float32), "steps": np.array(3)}
    assert gate().weights(4, fine) == []
    broken = {**fine, "layer.bias": np.array([0.0, math.inf], np.float32)}
    (alarm,) = gate().weights(4, broken)
    assert (alarm.field, alarm.action, alarm.value) == ("weights/layer.bias", "stop", math.inf)


def test_what_is_set_to_null_is_not_looked_at() -> None:
    one = gate(finite={"losses": None, "weights": None})
    assert not one.looks_at_weights
    assert one.metrics(1, {"loss_policy": math.nan}) == []
    assert one.weights(1, {"w": np.array([math.nan])}) == []


def test_a_metric_may_have_a_range_and_may_not_stand_still() -> None:
    one = gate(
        fields={
            "kl": {"kind": "range", "field": "metrics/kl", "max": 0.5, "action": "stop"},
            "still": {"kind": "stuck", "field": "metrics/entropy", "rows": 3},
        }
    )
    told = [one.metrics(update, {"kl": kl, "entropy": 1.0}) for update, kl in enumerate((0.1, 0.2, 0.9), 1)]
    assert told[:2] == [[], []]
    assert [(alarm.check, alarm.action, alarm.update) for alarm in told[2]] == [("kl", "stop", 3), ("still", "warn", 3)]


def test_a_metric_or_parameter_that_is_not_there_is_named_with_those_that_are() -> None:
    one = gate(fields={"kl": {"kind": "range", "field": "metrics/k", "max": 1}})
    for update in range(1, MISSED_MAX):
        one.metrics(update, {"kl": 0.0, "entropy": 1.0})
    with pytest.raises(ConfigError, match=r"'metrics/k'.*allowed are metrics/ and one of entropy, kl"):
        one.metrics(MISSED_MAX, {"kl": 0.0, "entropy": 1.0})
    other = gate(fields={"w": {"kind": "range", "field": "weights/head", "max": 1}})
    with pytest.raises(ConfigError, match=r"'weights/head'; allowed are weights, or weights/ and one of body\.weight"):
        other.weights(1, {"body.weight": np.zeros(2)})


def test_parameters_that_are_published_unchanged_are_stuck() -> None:
    one = gate(fields={"frozen": {"kind": "stuck", "field": "weights", "rows": 3}})
    frozen, rng = np.ones(4), np.random.default_rng(0)
    told = [one.weights(n, {"a": frozen, "b": rng.normal(size=4)}) for n in range(3)]
    assert told[:2] == [[], []]
    assert [alarm.field for alarm in told[2]] == ["weights/a"]


def test_weights_drift_from_those_that_were_published_first() -> None:
    one = gate(fields={"moved": {"kind": "drift", "field": "weights/body", "threshold": 1.0}})
    rng = np.random.default_rng(0)
    first = {"body.weight": rng.normal(size=(20, 20)), "head.weight": np.zeros(3)}
    assert one.weights(1, first) == []
    assert one.weights(2, {**first, "head.weight": np.ones(3)}) == []
    assert [alarm.field for alarm in one.weights(3, {**first, "body.weight": first["body.weight"] + 3})] == [
        "weights/body.weight"
    ]


def test_checks_of_another_model_are_not_ours() -> None:
    one = gate(fields={"kl": {"kind": "range", "field": "metrics/kl", "max": 0, "model": "other"}})
    assert one.metrics(1, {}) == []
