"""Histograms, images and the graph of what a worker trains, for TensorBoard."""

import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from torch import Tensor, nn

from app.algorithms.batch_columns import flat
from app.config.charts import ChartsConfig
from app.errors import ExportError, TrackingError
from app.home import tensorboard_folder
from app.metrics.charts import is_image
from app.metrics.tensorboard import TensorBoardWriter
from app.models.spec import ModelSpec
from app.types import RowKind
from train.drawn import drawn

FRAMES_PER_S = 10.0
"""How fast a video of observations is shown."""

_log = logging.getLogger(__name__)


class Charts:
    """Shows what a config asks for, at the updates that it names; a disk that is full loses charts, not training."""

    def __init__(self, config: ChartsConfig, folder: Path, module: nn.Module, spec: ModelSpec) -> None:
        """Opens the file.

        Args:
          config: What is shown, and how often; it asks for something.
          folder: Of the event file.
          module: The network that is trained.
          spec: Its shapes.

        Raises:
          TrackingError: The file cannot be created.
        """
        self._config, self._module, self._spec = config, module, spec
        self._writer = TensorBoardWriter(folder)
        if "graph" in config.kinds:
            self._draw()

    def show(self, updates: int, batch: Mapping[str, Tensor]) -> None:
        """Writes what is due.

        Args:
          updates: Number of the update that has just been made.
          batch: What it learned from, columns [N, …] or [K, T, …].
        """
        if updates % self._config.every_updates:
            return
        kinds = self._config.kinds
        if "weights" in kinds:
            self._histograms(updates, "weights", dict(self._module.named_parameters()))
        if "gradients" in kinds:
            gradients = {name: one.grad for name, one in self._module.named_parameters() if one.grad is not None}
            self._histograms(updates, "gradients", gradients)
        if not {"actions", "images", "video"}.isdisjoint(kinds):
            self._rows(updates, flat(batch))

    def close(self) -> None:
        """Closes the file."""
        self._writer.close()

    def _rows(self, updates: int, rows: Mapping[str, Tensor]) -> None:
        steps = {name: x[rows["kind"] == RowKind.STEP] for name, x in rows.items() if len(x) == len(rows["kind"])}
        if "actions" in self._config.kinds:
            names = [name for name in self._spec.actions.columns("action") if name in steps]
            self._histograms(updates, "actions", {name: steps[name] for name in names})
        for name, leaf in zip(self._spec.inputs.columns("observation"), self._spec.inputs.leaves, strict=True):
            if is_image(leaf.shape) and len(steps[name]):
                self._images(updates, name, steps[name])

    def _images(self, updates: int, name: str, rows: Tensor) -> None:
        if "images" in self._config.kinds:
            self._writer.image(updates, f"images/{name}", rows[0].detach().cpu().numpy())
        if "video" in self._config.kinds:
            frames = rows[: self._config.video_rows].detach().cpu().numpy()
            self._writer.video(updates, f"video/{name}", frames, FRAMES_PER_S)

    def _histograms(self, updates: int, what: str, tensors: Mapping[str, Tensor]) -> None:
        for name, tensor in tensors.items():
            self._writer.histogram(updates, f"{what}/{name}", _local(tensor).detach().float().cpu().numpy())

    def _draw(self) -> None:
        try:
            self._writer.graph(drawn(self._module))
        except ExportError as error:  # A network need not be one that can be drawn.
            _log.warning("TensorBoard shows no graph: %s", error)


def _local(tensor: Tensor) -> Tensor:
    """Returns a tensor, or this worker's shard of one that is split; its class costs a second to import."""
    return cast("Tensor", cast("Any", tensor).to_local()) if hasattr(tensor, "to_local") else tensor


def open_charts(
    config: ChartsConfig, trial_folder: Path, trainer: str, module: nn.Module, spec: ModelSpec
) -> Charts | None:
    """Returns the charts of a trainer; None where its config asks for none, or they cannot be written.

    Args:
      config: What is shown.
      trial_folder: Of the trial.
      trainer: Name of the trainer.
      module: The network that is trained.
      spec: Its shapes.
    """
    if not config.kinds:
        return None
    start = tensorboard_folder(trial_folder, time.time())
    try:
        return Charts(config, start.with_name(f"{start.name}-{trainer}"), module, spec)
    except TrackingError as error:  # Training is worth more.
        _log.error("no charts are written: %s", error)
        return None
