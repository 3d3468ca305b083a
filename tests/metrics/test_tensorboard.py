import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from app.errors import TrackingError
from app.metrics.charts import Node
from app.metrics.tensorboard import TensorBoardWriter


def read(folder: Path) -> EventAccumulator:
    accumulator = EventAccumulator(str(folder))
    accumulator.Reload()
    return accumulator


def test_tensorboards_own_reader_finds_each_value_with_step_and_time(tmp_path: Path) -> None:
    writer = TensorBoardWriter(tmp_path / "start")
    for step in range(3):
        writer.scalars(step, {"loss/policy": 0.5 * step, "episode/score": 10.0}, time_s=100.0 + step)
    writer.close()
    got = read(tmp_path / "start")
    assert sorted(got.Tags()["scalars"]) == ["episode/score", "loss/policy"]
    assert [(e.step, e.wall_time, e.value) for e in got.Scalars("loss/policy")] == [
        (0, 100.0, 0.0),
        (1, 101.0, 0.5),
        (2, 102.0, 1.0),
    ]


def test_values_are_readable_before_the_writer_is_closed(tmp_path: Path) -> None:
    writer = TensorBoardWriter(tmp_path)
    writer.scalars(7, {"x": 1.0}, time_s=1.0)
    assert [event.step for event in read(tmp_path).Scalars("x")] == [7]
    writer.close()
    writer.close()


def test_values_that_are_not_finite_are_kept_as_such(tmp_path: Path) -> None:
    writer = TensorBoardWriter(tmp_path)
    writer.scalars(0, {"infinite": math.inf, "nan": math.nan}, time_s=1.0)
    writer.close()
    got = read(tmp_path)
    assert got.Scalars("infinite")[0].value == math.inf
    assert math.isnan(got.Scalars("nan")[0].value)


def test_two_writers_of_one_folder_write_two_files(tmp_path: Path) -> None:
    for writer in [TensorBoardWriter(tmp_path), TensorBoardWriter(tmp_path)]:
        writer.close()
    assert len(list(tmp_path.iterdir())) == 2


def test_a_full_disk_loses_records_but_stops_nobody(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    writer = TensorBoardWriter(tmp_path)
    with Path("/dev/full").open("wb", buffering=0) as full:
        writer._records._writer = full  # type: ignore[attr-defined]
        for step in range(3):
            writer.scalars(step, {"x": 1.0}, time_s=1.0)
    writer.close()
    assert writer.dropped == 3
    assert len(caplog.records) == 1


def test_a_folder_that_cannot_be_created_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(TrackingError, match="file/start"):
        TensorBoardWriter(tmp_path / "file" / "start")


def test_writing_imports_neither_torch_nor_tensorflow(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib; from app.metrics.tensorboard import TensorBoardWriter\n"
        "TensorBoardWriter(pathlib.Path(sys.argv[1])).scalars(0, {'x': 1.0}, 1.0)\n"
        "sys.exit(str(sorted({'torch', 'tensorflow', 'ray', 'mlflow'} & set(sys.modules))))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, timeout=30, check=False
    )
    assert answer.stderr.strip() == "[]"


def test_histograms_images_films_and_graphs_come_back_from_tensorboards_own_reader(tmp_path: Path) -> None:
    writer = TensorBoardWriter(tmp_path)
    writer.histogram(3, "weights/a", np.array([[0.0, 1.0], [1.0, np.nan]]), time_s=5.0)
    writer.histogram(3, "weights/none", np.array([np.inf]))
    writer.image(4, "images/screen", np.zeros((6, 8, 3), np.uint8))
    writer.video(4, "video/screen", np.zeros((2, 6, 8), np.uint8))
    nodes = [Node("in", "Placeholder", (), (2, 4)), Node("network/0/linear", "aten.linear.default", ("in",), (2, 3))]
    writer.graph(nodes)
    writer.close()
    got = read(tmp_path)
    [event] = got.Histograms("weights/a")
    assert (event.step, event.wall_time) == (3, 5.0)
    assert (event.histogram_value.num, event.histogram_value.sum, event.histogram_value.max) == (3, 2, 1)
    assert got.Tags()["histograms"] == ["weights/a"]
    [image] = got.Images("images/screen")
    assert (image.step, image.height, image.width) == (4, 6, 8)
    assert image.encoded_image_string.startswith(b"\x89PNG")
    assert got.Images("video/screen")[0].encoded_image_string.startswith(b"GIF8")
    linear = got.Graph().node[1]
    assert (linear.name, list(linear.input), linear.op) == ("network/0/linear", ["in"], "aten.linear.default")
    assert [size.size for size in linear.attr["_output_shapes"].list.shape[0].dim] == [2, 3]
