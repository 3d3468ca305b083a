import pytest
from pydantic import ValidationError

from app.config.metrics import MetricsConfig
from app.config.validation import schema_problems


def test_times_are_measured_of_all_of_none_or_of_those_that_are_named() -> None:
    assert MetricsConfig().timed("player")
    assert not MetricsConfig(latencies=False).timed("player")
    named = MetricsConfig.model_validate({"latencies": ["player"]})
    assert named.timed("player")
    assert not named.timed("other")


@pytest.mark.parametrize("wrong", ["player", ["Player"], 3])
def test_latencies_that_are_neither_a_switch_nor_names_are_refused(wrong: object) -> None:
    with pytest.raises(ValidationError, match="latencies"):
        MetricsConfig.model_validate({"latencies": wrong})


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("player", {"latencies": "wrong value, got 'player', allowed: a valid boolean or a list"}),
        (None, {"latencies": "wrong value, got None, allowed: a valid boolean or a list"}),
        (["a", 3], {"latencies.1": "wrong value, got 3, allowed: a valid string"}),
    ],
)
def test_wrong_latencies_are_told_once_and_in_words_of_the_file(wrong: object, told: dict[str, str]) -> None:
    with pytest.raises(ValidationError) as caught:
        MetricsConfig.model_validate({"latencies": wrong})
    assert schema_problems(caught.value, MetricsConfig) == told
