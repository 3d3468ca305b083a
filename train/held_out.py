"""The losses of an input on rows that its source has set aside: nothing is learned from them."""

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

import torch
from torch import nn

from app.algorithms.contract import Learner
from app.sources.batches import batches
from app.types import Rows

if TYPE_CHECKING:
    from app.sources.opening import SetAside


class HeldOut:
    """Measures one input; every worker does so on the same rows, at the same point."""

    def __init__(
        self,
        name: str,
        module: nn.Module,
        learner: Learner,
        aside: "SetAside",
        batch_rows: int,
        most_batches: int,
    ) -> None:
        """Keeps the parts; nothing is read.

        Args:
          name: Of the input; its metrics begin with it.
          module: The network.
          learner: Measures the losses by a stepper that takes no step.
          aside: The rows.
          batch_rows: Rows of one batch.
          most_batches: Batches at most.
        """
        self._name = name
        self._module = module
        self._learner = learner
        self._aside = aside
        self._batch_rows, self._most = batch_rows, most_batches

    def measure(self, device: torch.device) -> dict[str, float]:
        """Returns the means of the learner's metrics over the batches; the network stays as it is.

        Raises:
          SourceError: The rows cannot be read.
        """
        kept = {name: x.clone() for name, x in self._module.named_buffers()}
        training = self._module.training
        self._module.eval()
        try:
            return self._measured(device)
        finally:
            self._module.train(training)
            with torch.no_grad():
                for name, x in self._module.named_buffers():
                    x.copy_(kept[name])  # A normaliser has seen the rows.

    def _measured(self, device: torch.device) -> dict[str, float]:
        sums: Counter[str] = Counter()
        counts: Counter[str] = Counter()
        for rows in islice(self._batches(), self._most):
            batch = {name: torch.from_numpy(column).to(device) for name, column in rows.items()}
            metrics = self._learner.update(batch, torch.Generator().manual_seed(0)).metrics
            counts.update(metrics.keys())  # Not every batch has all of them, such as returns of episodes that ended.
            sums.update(metrics)  # Floats add up as counts do.
        left_out = ("grad_norm", "optimizer_steps")
        means = {name: total / counts[name] for name, total in sums.items() if name not in left_out}
        return {f"held_out/{self._name}/{name}": mean for name, mean in means.items()}

    def _batches(self) -> Iterator[Rows]:
        preprocess = self._aside.preprocess
        for rows, _ in batches(self._aside.reader, self._batch_rows):
            yield rows if preprocess is None else preprocess(rows)
