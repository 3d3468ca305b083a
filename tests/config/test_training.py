"""Checkpoints in a config."""

import pytest
from pydantic import ValidationError

from app.config.checkpoints import CheckpointsConfig, KeepCheckpoints


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
