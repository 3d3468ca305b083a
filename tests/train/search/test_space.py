"""From a space to what is drawn, and back to overrides."""

import numpy as np
import pytest

from app.config.search import SearchConfig
from train.search.space import changed, corners, drawn, overrides, within

SPACE = SearchConfig.model_validate(
    {
        "space": {
            "a.rate": {"kind": "loguniform", "low": 1e-4, "high": 1e-2},
            "a.share": {"kind": "uniform", "low": 0.25, "high": 0.75},
            "b.0.size": {"kind": "choice", "values": [32, 64]},
            "b.0.kind": {"kind": "grid", "values": ["x", "y"]},
        }
    }
)


def test_values_are_drawn_from_their_ranges() -> None:
    random = np.random.default_rng(0)
    found = drawn(SPACE)
    assert found["b.0.kind"] == {"grid_search": ["x", "y"]}
    for _ in range(100):
        assert 1e-4 <= found["a.rate"].sample(random_state=random) <= 1e-2  # type: ignore[attr-defined]
        assert 0.25 <= found["a.share"].sample(random_state=random) <= 0.75  # type: ignore[attr-defined]
        assert found["b.0.size"].sample(random_state=random) in (32, 64)  # type: ignore[attr-defined]


def test_a_population_changes_all_but_grids() -> None:
    assert sorted(changed(SPACE)) == ["a.rate", "a.share", "b.0.size"]
    assert changed(SPACE)["b.0.size"] == [32, 64]


def test_changed_values_are_brought_back_into_their_range() -> None:
    beyond = {"a.rate": 2e-2, "a.share": 0.1, "b.0.size": 64, "b.0.kind": "x"}
    assert within(SPACE, beyond) == {"a.rate": 1e-2, "a.share": 0.25, "b.0.size": 64, "b.0.kind": "x"}


def test_corners_are_the_ends_of_all_ranges() -> None:
    assert corners(SPACE) == [
        {"a.rate": 1e-4, "a.share": 0.25, "b.0.size": 32, "b.0.kind": "x"},
        {"a.rate": 1e-2, "a.share": 0.75, "b.0.size": 64, "b.0.kind": "y"},
    ]


@pytest.mark.parametrize(("value", "text"), [(1e-5, "a=1e-05"), (True, "a=true"), ("x: y", 'a="x: y"'), (64, "a=64")])
def test_values_are_written_as_overrides(value: float | str, text: str) -> None:
    assert overrides({"a": value}) == [text]
