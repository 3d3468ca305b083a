"""From a source's config to what is read."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.config.root import ExperimentConfig
from app.errors import SourceError
from app.sources.batches import batches
from app.sources.opening import absolute, located, open_held_out, open_reader, shards_of

from .made import FLAT, episode


def config(**source: object) -> ExperimentConfig:
    sources = {"demos": {"kind": "npz", **source}, "other": {"kind": "npz", "path": source["path"]}}
    return ExperimentConfig.model_validate({"run": {"project": "game", "trial": "one"}, "sources": sources})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Returns a folder with three files of ten episodes of two steps each, one of them further below."""
    for number, name in enumerate(("b", "a", "below/c")):
        parts = [episode(2, 10 * number + at) for at in range(10)]
        for part in parts:
            part["observation"] = part["observation"][:-1]
        path = tmp_path / f"{name}.npz"
        path.parent.mkdir(exist_ok=True)
        np.savez(path, **{key: np.concatenate([part[key] for part in parts]) for key in parts[0]})  # type: ignore[arg-type]
    (tmp_path / "notes.txt").write_text("no data")
    return tmp_path


def names(config: ExperimentConfig) -> list[str]:
    return [shard.name for shard in shards_of("demos", config.sources["demos"])]


def test_folders_patterns_and_lists_name_files_in_the_order_of_their_names(folder: Path) -> None:
    assert names(config(path=str(folder))) == ["a.npz", "b.npz", "c.npz"]
    assert names(config(path=str(folder / "*.npz"))) == ["a.npz", "b.npz"]
    assert names(config(path=[str(folder / "b.npz"), str(folder / "below")])) == ["b.npz", "c.npz"]


def test_files_that_are_not_there_are_named(folder: Path) -> None:
    with pytest.raises(SourceError, match=r"sources\.demos\.path: there is no file .*/x\*\.npz; allowed are"):
        names(config(path=str(folder / "x*.npz")))
    (folder / "empty").mkdir()
    with pytest.raises(SourceError, match=r"there is no file .*/empty/\*\*/\*\.\{npz\}"):
        names(config(path=str(folder / "empty")))


def as_stored(columns: dict[str, Any]) -> dict[str, Any]:
    return columns


def test_another_source_is_read_and_preprocessed_as_its_own_config_says(folder: Path) -> None:
    one = config(path=str(folder), held_out_source="other", preprocess=f"{__name__}:as_stored")
    held = open_held_out(one, "demos", FLAT)
    assert held is not None
    assert held.preprocess is None
    other = one.sources["other"].model_copy(update={"preprocess": f"{__name__}:as_stored"})
    held = open_held_out(one.model_copy(update={"sources": one.sources | {"other": other}}), "demos", FLAT)
    assert held is not None
    assert held.preprocess is not None
    share = open_held_out(
        config(path=str(folder), held_out_share=0.3, preprocess=f"{__name__}:as_stored"), "demos", FLAT
    )
    assert share is not None
    assert share.preprocess is not None


def test_relative_paths_begin_in_the_folder_that_is_given(folder: Path) -> None:
    source = config(path=["a.npz", str(folder / "b.npz"), "~/c.npz"]).sources["demos"]
    found = absolute(source, folder)
    assert found.path == (str(folder / "a.npz"), str(folder / "b.npz"), str(Path("~/c.npz").expanduser()))  # type: ignore[union-attr]


def test_the_config_says_how_often_and_in_which_order(folder: Path) -> None:
    once = [batch.rows for batch in batches(open_reader(config(path=str(folder), epochs=1), "demos", FLAT), 30)]
    twice = config(path=str(folder), epochs=2, shuffle={"window": 5})
    mixed = [batch.rows for batch in batches(open_reader(twice, "demos", FLAT), 30)]
    assert sum(rows["weight"].sum() for rows in once) == 60
    assert sum(rows["weight"].sum() for rows in mixed) == 120
    assert once[0]["observation"].tolist() != mixed[0]["observation"].tolist()


def test_what_is_held_out_is_read_once_and_from_where_the_config_says(folder: Path) -> None:
    assert open_held_out(config(path=str(folder)), "demos", FLAT) is None
    share = config(path=str(folder), held_out_share=0.3, shuffle={"window": 5})
    held = open_held_out(share, "demos", FLAT)
    assert held is not None
    trained = next(batches(open_reader(share, "demos", FLAT, rank=0, ranks=1), 20)).rows
    held_episodes = {int(rows["episode"][0]) for _, rows in held.reader.trajectories()}
    assert 3 <= len(held_episodes) <= 15
    assert not held_episodes & set(trained["episode"].tolist())
    other = open_held_out(config(path=str(folder), held_out_source="other"), "demos", FLAT)
    assert other is not None
    assert len(list(other.reader.trajectories())) == 30


def test_all_sources_of_a_config_are_found_from_any_folder(folder: Path) -> None:
    made = located(config(path="a.npz", held_out_source="other"), folder)
    assert {name: one.path for name, one in made.sources.items()} == dict.fromkeys(  # type: ignore[union-attr]
        ("demos", "other"), (str(folder / "a.npz"),)
    )
