"""What a config may say of sources, and of the inputs that read them."""

from pathlib import Path

import pytest
import yaml

from app.config.active import active
from app.config.load import load
from app.config.sources import ParquetSource, RecordingsSource
from app.errors import ConfigError


def written(folder: Path, sources: object, inputs: object = ({"source": "demos"},)) -> Path:
    tree = {
        "run": {"project": "game", "trial": "one"},
        "models": {"main": {"factory": "a:b"}},
        "sources": sources,
        "trainers": {"main": {"model": "main", "inputs": list(inputs)}},  # type: ignore[call-overload]
    }
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(tree))
    return path


def test_a_trainer_reads_a_source_by_its_name(tmp_path: Path) -> None:
    config = load(written(tmp_path, {"demos": {"kind": "parquet", "path": "demos/*.parquet", "epochs": 3}}))
    source = config.sources["demos"]
    assert isinstance(source, ParquetSource)
    assert (source.path, source.epochs, source.shuffle) == ("demos/*.parquet", 3, None)
    assert config.trainers["main"].inputs[0].source == "demos"
    assert config.trainers["main"].inputs[0].buffer is None


def test_sources_do_not_exist_where_nothing_is_trained(tmp_path: Path) -> None:
    path = written(tmp_path, {"demos": {"kind": "recordings", "path": ["a", "b"]}})
    assert isinstance(active(load(path)).sources["demos"], RecordingsSource)
    assert active(load(path, ["run.mode=deploy"])).sources == {}


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"kind": "parquet"}, "sources.demos.path: is missing"),
        ({"kind": "tape", "path": "x"}, "kind' is one of 'factory', 'parquet', 'jsonl'"),
        ({"path": "x"}, "allowed: a mapping with 'kind'"),
        ({"kind": "npz", "path": "x", "epoch": 1}, "did you mean 'epochs'?"),
        ({"kind": "npz", "path": "x", "held_out_share": 1.0}, "sources.demos.held_out_share"),
        ({"kind": "npz", "path": "x", "held_out_source": "dmos"}, "no source named 'dmos'; there are: demos"),
        (
            {"kind": "npz", "path": "x", "held_out_share": 0.1, "held_out_source": "demos"},
            "held_out_share is 0.1 and held_out_source 'demos'; allowed is one of them",
        ),
    ],
)
def test_a_wrong_source_is_refused_with_its_place(tmp_path: Path, source: object, message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load(written(tmp_path, {"demos": source}))
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({}, "trainers.main.inputs.0: got neither; allowed is one of buffer and source"),
        ({"buffer": "b", "source": "demos"}, "got buffer 'b' and source 'demos'; allowed is one of buffer and source"),
        ({"source": "demo"}, "no source named 'demo'; there are: demos, did you mean 'demos'?"),
    ],
)
def test_an_input_comes_from_one_place_that_exists(tmp_path: Path, wanted: object, message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load(written(tmp_path, {"demos": {"kind": "npz", "path": "x"}}, [wanted]))
    assert message in str(refused.value)
