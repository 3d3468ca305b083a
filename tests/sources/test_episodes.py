"""Tables of steps are cut into episodes, however the pieces of the table lie."""

from itertools import chain, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import SourceError
from app.sources.episodes import episodes
from app.sources.stored import Columns
from app.types import RowKind


def table(lengths: list[int], *told: str) -> Columns:
    """Returns steps of episodes whose rewards count up over all of them."""
    ends = np.cumsum(lengths) - 1
    rows = sum(lengths)
    columns: Columns = {"reward": np.arange(rows)}
    if "terminated" in told:
        columns["terminated"] = np.isin(np.arange(rows), ends)
    if "episode" in told:
        columns["episode"] = np.repeat(np.arange(len(lengths)), lengths)
    if "kind" in told:
        columns["kind"] = np.where(np.isin(np.arange(rows), ends), RowKind.TERMINATED, RowKind.STEP)
    return columns


def cut(columns: Columns, places: list[int]) -> list[Columns]:
    bounds = [0, *sorted(places), len(columns["reward"])]
    return [{name: column[a:b] for name, column in columns.items()} for a, b in pairwise(bounds)]


@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=6),
    st.lists(st.integers(0, 30), max_size=4),
    st.sampled_from([("terminated",), ("episode",), ("kind",), ("terminated", "episode")]),
)
def test_episodes_are_whole_wherever_the_table_is_cut(
    lengths: list[int], places: list[int], told: tuple[str, ...]
) -> None:
    columns = table(lengths, *told)
    places = [min(place, sum(lengths)) for place in places]
    found = [stored.columns["reward"].tolist() for stored in episodes(cut(columns, places), "table")]
    assert [len(rewards) for rewards in found] == lengths
    assert list(chain(*found)) == list(range(sum(lengths)))


def test_the_place_of_an_episode_is_told() -> None:
    assert [stored.where for stored in episodes([table([2, 3], "episode")], "t.parquet")] == [
        "t.parquet, rows from 0",
        "t.parquet, rows from 2",
    ]


def test_a_table_that_does_not_tell_its_episodes_is_refused() -> None:
    with pytest.raises(SourceError, match="nothing tells where episodes end, got the columns reward"):
        list(episodes([table([2])], "t.npz"))


def test_rows_of_ours_behind_the_last_bootstrap_row_are_a_cut_file() -> None:
    columns = {name: column[:-1] for name, column in table([2, 3], "kind").items()}
    with pytest.raises(SourceError, match="no bootstrap row follows the rows from 2; the file was cut"):
        list(episodes([columns], "t.parquet"))


def test_columns_of_several_lengths_are_refused() -> None:
    with pytest.raises(SourceError, match="differ in length"):
        list(episodes([table([2], "episode") | {"action": np.zeros(3)}], "t.npz"))
