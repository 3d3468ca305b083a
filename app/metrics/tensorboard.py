"""TensorBoard event files, written without torch or TensorFlow: a call for each thing that it shows."""

import logging
import os
import socket
import time
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from app.errors import TrackingError
from app.metrics.charts import Node, Picture, film_of, histogram_of, picture_of

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tensorboard.compat.proto.event_pb2 import Event

FILE_VERSION: Final = "brain.Event:2"
"""First record of every event file."""

GRAPH_VERSION: Final = 22
"""Version of TensorFlow's graph format that TensorBoard is told."""

_logger = logging.getLogger(__name__)
_numbers = count()


class TensorBoardWriter:
    """One event file of one start.

    Everything is written at once, so that TensorBoard shows it at its next reload. A disk that is full loses records:
    they are counted in ``dropped``, the first is logged.
    """

    def __init__(self, folder: Path) -> None:
        """Creates the folder and the file, and imports the format (0.1 s).

        Args:
          folder: Folder of this start, as ``app.home.tensorboard_folder`` gives it.

        Raises:
          TrackingError: The file cannot be created.
        """
        from tensorboard.compat.proto.event_pb2 import Event  # noqa: PLC0415
        from tensorboard.summary.writer.record_writer import RecordWriter  # noqa: PLC0415

        self.dropped = 0
        """Records that could not be written."""
        self._event = Event
        name = f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}.{next(_numbers)}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = (folder / name).open("xb", buffering=0)
        except OSError as error:
            raise TrackingError(
                f"cannot write TensorBoard files to {folder}: {error}; correct SPARRING_HOME"
            ) from error
        self._records = RecordWriter(self._file)
        self._write(Event(wall_time=time.time(), file_version=FILE_VERSION))

    def scalars(self, step: int, metrics: Mapping[str, float], time_s: float) -> None:
        """Writes the metrics of one update; infinite values and NaN are kept as such.

        Args:
          step: Number of the update.
          metrics: Values by name.
          time_s: When they were measured, in Unix seconds.
        """
        event = self._event(wall_time=time_s, step=step)
        for name, value in metrics.items():
            event.summary.value.add(tag=name, simple_value=value)
        self._write(event)

    def histogram(self, step: int, name: str, values: "NDArray[Any]", time_s: float | None = None) -> None:
        """Writes how values are spread; those that are not finite are left out, and nothing is written without others.

        Args:
          step: Number of the update.
          name: What they are.
          values: Numbers, of any shape.
          time_s: When, in Unix seconds; None is now.
        """
        found = histogram_of(values)
        if found is None:
            return
        event = self._new(step, time_s)
        proto = event.summary.value.add(tag=name).histo
        proto.min, proto.max, proto.num = found.min, found.max, found.number
        proto.sum, proto.sum_squares = found.sum, found.sum_squares
        proto.bucket_limit.extend(found.limits)
        proto.bucket.extend(found.buckets)
        self._write(event)

    def image(self, step: int, name: str, image: "NDArray[Any]", time_s: float | None = None) -> None:
        """Writes an image, as ``charts.picture_of`` takes it.

        Raises:
          ValueError: It is none.
        """
        self._picture(step, name, picture_of(image), time_s)

    def video(
        self, step: int, name: str, frames: "NDArray[Any]", frames_per_s: float = 10.0, time_s: float | None = None
    ) -> None:
        """Writes images that move, as ``charts.film_of`` takes them; they are shown among the images.

        Raises:
          ValueError: They are none.
        """
        self._picture(step, name, film_of(frames, frames_per_s), time_s)

    def graph(self, nodes: Sequence[Node], time_s: float | None = None) -> None:
        """Writes a network's graph; TensorBoard shows one of a run.

        Args:
          nodes: Its operations.
          time_s: When, in Unix seconds; None is now.
        """
        from tensorboard.compat.proto.graph_pb2 import GraphDef  # noqa: PLC0415

        graph = GraphDef()
        graph.versions.producer = GRAPH_VERSION
        for node in nodes:
            made = graph.node.add(name=node.name, op=node.operation, input=node.inputs)
            if node.shape is not None:
                shape = made.attr["_output_shapes"].list.shape.add()
                for size in node.shape:
                    shape.dim.add(size=size)
        event = self._new(0, time_s)
        event.graph_def = graph.SerializeToString()
        self._write(event)

    def close(self) -> None:
        """Closes the file; closing twice is harmless."""
        self._file.close()

    def _picture(self, step: int, name: str, picture: Picture, time_s: float | None) -> None:
        event = self._new(step, time_s)
        proto = event.summary.value.add(tag=name).image
        proto.height, proto.width, proto.colorspace = picture.height, picture.width, picture.channels
        proto.encoded_image_string = picture.encoded
        self._write(event)

    def _new(self, step: int, time_s: float | None) -> "Event":
        return self._event(wall_time=time.time() if time_s is None else time_s, step=step)

    def _write(self, event: "Event") -> None:
        try:
            self._records.write(event.SerializeToString())
        except OSError as error:
            if self.dropped == 0:
                _logger.warning("cannot write to %s, records are lost: %s", self._file.name, error)
            self.dropped += 1
