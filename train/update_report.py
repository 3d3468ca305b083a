"""What is told of each update: how fresh its rows were, what was learned, and what stands in the queues."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from app.algorithms.contract import Learned
from app.replay.freshness import Freshness, freshness
from app.stores.metrics_values import Update
from train.checks import TrainerChecks
from train.inputs import Input
from train.publish import Publisher
from train.streams import Arrived


class UpdateReport:
    """Looks at batches before they are learned from, and sends the metrics of each update."""

    def __init__(
        self,
        inputs: Sequence[Input],
        publisher: Publisher,
        checks: TrainerChecks,
        gauges: Sequence[Callable[[], Mapping[str, float]]],
    ) -> None:
        """Begins without an update.

        Args:
          inputs: Where batches come from.
          publisher: Knows the version that learns, and sends.
          checks: Look at batches, metrics and weights.
          gauges: Return what stands in queues now.
        """
        self._inputs = inputs
        self._publisher = publisher
        self._gauges = gauges
        self._dropped: Counter[str] = Counter()
        """Rows that were not learned from, since the last report."""
        self.checks = checks
        self.measured: Mapping[str, float] = {}
        """Metrics of the newest update."""

    def freshened(self, arrived: Arrived) -> Freshness:
        """Returns which rows of a batch still count; the others get weight 0, and what checks drop is taken out."""
        self.checks.batch(arrived.at, arrived.batch)
        fresh = freshness(arrived.batch, self._publisher.version, self._inputs[arrived.at].max_policy_lag)
        arrived.batch["weight"] = fresh.weight
        self._dropped.update(fresh.dropped())
        return fresh

    def send(
        self,
        update: int,
        turn: Sequence[Arrived],
        fresh: Sequence[Freshness],
        learned: Sequence[Learned],
        measured: Mapping[str, float],
    ) -> None:
        """Sends the metrics of an update; of several inputs each has its name in front of its own.

        Args:
          update: Its number.
          turn: Its batches.
          fresh: Which of their rows counted.
          learned: What the algorithms tell, by batch.
          measured: Whatever else.
        """
        found: dict[str, float] = {}
        for arrived, age, one in zip(turn, fresh, learned, strict=True):
            front = f"{self._inputs[arrived.at].name}/" if len(self._inputs) > 1 else ""
            own = one.metrics | age.metrics() | {"wait_s": arrived.waited_s}
            found |= {f"{front}{name}": value for name, value in own.items()}
        dropped = {name: float(rows) for name, rows in self._dropped.items()}
        gauges = {name: value for read in self._gauges for name, value in read().items()}
        self.measured = {**found, **dropped, **self.checks.dropped(), **measured, **gauges}
        self._publisher.report(Update(update, time.time(), self.measured))
        self.checks.metrics(update, self.measured)

    def clear(self) -> None:
        """Begins the count of rows that are not learned from anew."""
        self._dropped.clear()
