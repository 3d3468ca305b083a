"""Checkpoints and workers in a config."""

import pytest
from pydantic import ValidationError

from app.config.checkpoints import CheckpointsConfig, KeepCheckpoints
from app.config.training import TrainerConfig


def trainer(**settings: object) -> TrainerConfig:
    return TrainerConfig.model_validate({"model": "main", "inputs": [{"buffer": "rollouts"}], **settings})


def test_by_default_a_minute_passes_between_checkpoints_and_what_exists_is_moved_aside() -> None:
    settings = CheckpointsConfig()
    assert (settings.every_updates, settings.every_s, settings.on_existing) == (None, 60, "overwrite")
    assert settings.keep == KeepCheckpoints(last=3, every_nth=None, best=None)


def test_a_trainer_that_never_saves_is_refused() -> None:
    with pytest.raises(ValidationError, match="every_updates and every_s are both null; allowed is a number"):
        CheckpointsConfig(every_s=None)
    assert CheckpointsConfig(every_s=None, every_updates=5).every_updates == 5


@pytest.mark.parametrize("wrong", [{"last": 0}, {"every_nth": 0}, {"best": {"count": 0}}, {"best": {"order": "most"}}])
def test_rules_out_of_bounds_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        KeepCheckpoints.model_validate(wrong)


def test_a_range_of_workers_is_counted_at_its_largest() -> None:
    ranged = trainer(workers={"min": 1, "max": 3})
    assert ranged.most_workers == 3
    assert trainer(workers=2).most_workers == 2


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"workers": {"min": 3, "max": 2}}, "min is 3, above max, 2"),
        ({"workers": {"max": 2}, "inputs": [{"source": "demos"}]}, "each worker reads a part of the sources demos"),
        ({"workers": {"max": 2}, "strategy": {"kind": "deepspeed"}}, "so their number must stay"),
    ],
)
def test_a_range_is_refused_where_the_number_must_stay(settings: dict[str, object], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        trainer(**settings)


@pytest.mark.parametrize("strategy", [{"kind": "fsdp"}, {"kind": "deepspeed", "stage": 2}])
def test_parts_of_a_network_that_is_split_are_not_asked_alone(strategy: dict[str, object]) -> None:
    inputs = [{"buffer": "rows", "algorithm": {"kind": "dqn"}}]
    with pytest.raises(ValidationError, match="dqn asks parts of the network alone, which strategy"):
        TrainerConfig.model_validate({"model": "main", "inputs": inputs, "workers": 2, "strategy": strategy})
