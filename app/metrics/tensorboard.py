"""Scalars as a TensorBoard event file, written without torch or TensorFlow."""

import logging
import os
import socket
import time
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final

from app.errors import TrackingError

if TYPE_CHECKING:
    from tensorboard.compat.proto.event_pb2 import Event

FILE_VERSION: Final = "brain.Event:2"
"""First record of every event file."""

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

    def close(self) -> None:
        """Closes the file; closing twice is harmless."""
        self._file.close()

    def _write(self, event: "Event") -> None:
        try:
            self._records.write(event.SerializeToString())
        except OSError as error:
            if self.dropped == 0:
                _logger.warning("cannot write to %s, records are lost: %s", self._file.name, error)
            self.dropped += 1
