import pytest
from pydantic import ValidationError

from app.config.checks import ChecksConfig, DriftCheck
from app.config.references import reference_problems


def refusal(**check: object) -> str:
    with pytest.raises(ValidationError) as caught:
        ChecksConfig.model_validate({"fields": {"one": check}})
    return str(caught.value)


def test_a_field_that_there_cannot_be_is_refused_with_those_that_there_are() -> None:
    told = refusal(kind="range", field="observations/hp", min=0)
    assert (
        "is 'observations/hp'; allowed are observation, state, action, reward, log_prob, value, metrics, weights"
        in told
    )
    assert "allowed is metrics/<name>" in refusal(kind="range", field="metrics", min=0)
    assert "is 'reward/'" in refusal(kind="range", field="reward/", min=0)


def test_only_a_check_that_finds_rows_may_drop() -> None:
    assert "drop for the learner" in refusal(kind="range", field="metrics/kl", max=1, action="drop")
    assert "drop for a window of rows" in refusal(kind="drift", field="reward", action="drop")
    config = ChecksConfig.model_validate({"fields": {"one": {"kind": "stuck", "field": "state", "action": "drop"}}})
    assert config.fields["one"].action == "drop"


def test_only_a_game_can_be_recorded() -> None:
    assert "which is of no game" in refusal(kind="range", field="weights", max=1, record=True)


def test_bounds_are_given_and_ordered() -> None:
    assert "at least one bound" in refusal(kind="range", field="reward")
    assert "at least one bound" in refusal(kind="saturated", field="action")
    assert "min is 2 and max 1" in refusal(kind="range", field="reward", min=2, max=1)


def test_each_statistic_has_its_own_limit() -> None:
    assert DriftCheck(field="reward").limit == 0.25
    assert DriftCheck(field="reward", statistic="ks").limit == 0.1
    assert DriftCheck(field="reward", threshold=0.4).limit == 0.4


def test_model_and_reference_must_exist() -> None:
    tree = {
        "models": {"main": {}},
        "sources": {"demos": {}},
        "checks": {"fields": {"a": {"model": "mian"}, "b": {"reference": "demo"}, "c": {"model": "main"}}},
    }
    assert reference_problems(tree) == {
        "checks.fields.a.model": "no model named 'mian'; there are: main, did you mean 'main'?",
        "checks.fields.b.reference": "no source named 'demo'; there are: demos, did you mean 'demos'?",
    }
