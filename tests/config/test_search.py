"""The search section: what fits together."""

from pathlib import Path

import pytest

from app.config.load import load
from app.errors import ConfigError

SEARCH = Path(__file__).parents[2] / "configs" / "search.yaml"


def test_the_shipped_search_loads() -> None:
    search = load(SEARCH).search
    assert search is not None
    assert (search.trials, search.combinations, search.metric) == (8, 1, "mean_return")


def test_trials_are_a_multiple_of_the_grids_combinations(tmp_path: Path) -> None:
    path = searching(tmp_path, "{a: {kind: grid, values: [1, 2]}, b: {kind: grid, values: [1, 2, 3]}}")
    with pytest.raises(ConfigError, match="trials is 8; allowed is a multiple of the 6 combinations"):
        load(path)
    whole = load(path, ["search.trials=12"]).search
    assert whole is not None
    assert whole.combinations == 6


def test_a_range_is_ordered_and_logarithms_are_of_positive_numbers(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="low is 2; allowed is less than high, 1"):
        load(searching(tmp_path, "{a: {kind: uniform, low: 2, high: 1}}"))
    with pytest.raises(ConfigError, match="greater than 0"):
        load(searching(tmp_path, "{a: {kind: loguniform, low: 0, high: 1}}"))


def test_a_population_needs_something_to_change(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there are grids alone"):
        load(searching(tmp_path, "{a: {kind: grid, values: [1]}}"), ["search.scheduler={kind: pbt}"])


def test_grace_is_no_longer_than_a_trial(tmp_path: Path) -> None:
    path = searching(tmp_path, "{a: {kind: choice, values: [1]}}")
    with pytest.raises(ConfigError, match="grace_updates is 200; allowed is at most updates, 100"):
        load(path, ["search.scheduler={kind: asha, grace_updates: 200}"])


def test_an_unknown_kind_is_told_with_those_that_there_are(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="loguniform"):
        load(searching(tmp_path, "{a: {kind: normal}}"))


def searching(folder: Path, space: str) -> Path:
    path = folder / "own.yaml"
    path.write_text(f"extends: [{SEARCH.parent / 'rl.yaml'}]\nsearch: {{space: {space}}}\n")
    return path
