"""Recorded rows as the reference of drift."""

import asyncio
from pathlib import Path

import numpy as np
import pytest

from app.checks.references import referred_row_checks
from app.checks.windows import Drift
from app.config.root import ExperimentConfig
from app.errors import SourceError
from tests.recordings.played import write_games
from tests.small_policy import discrete

SPEC = discrete((2,), 2)


def checks(path: Path) -> Drift:
    config = ExperimentConfig.model_validate(
        {
            "run": {"project": "game", "trial": "one"},
            "sources": {"demos": {"kind": "recordings", "path": str(path), "epochs": None}},
            "checks": {
                "fields": {"moved": {"kind": "drift", "field": "reward", "reference": "demos", "window_rows": 200}}
            },
        }
    )
    (check,) = [one for one in referred_row_checks(config, "main", SPEC) if one.name == "moved"]
    assert isinstance(check.checker, Drift)
    return check.checker


def test_a_window_is_compared_with_the_steps_of_the_source(tmp_path: Path) -> None:
    asyncio.run(write_games(tmp_path / "player-1.parquet", [300]))  # Rewards are 1 to 300.
    alike, other = np.linspace(1, 300, 200)[:, None], np.linspace(400, 500, 200)[:, None]
    follows = np.zeros(200, np.bool_)
    check = checks(tmp_path)
    assert check.look(alike, follows) is None
    assert check.look(other, follows) is not None


def test_a_source_without_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="there is no file"):
        checks(tmp_path)
