import pytest

from train.bench.statistics import figure


def test_a_figure_is_the_median_and_the_distance_of_the_quartiles() -> None:
    found = figure([1.0, 2.0, 3.0, 4.0, 100.0])
    assert (found.median, found.iqr, found.runs) == (3.0, 2.0, 5)


def test_a_spread_of_more_than_thirty_percent_is_not_measured() -> None:
    assert figure([8.5, 10.0, 11.5]).measured
    assert not figure([6.0, 10.0, 14.0]).measured


def test_a_figure_without_a_run_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one run"):
        figure([])
