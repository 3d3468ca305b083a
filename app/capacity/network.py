"""Bytes on the wire."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from app.capacity.workload import Transport, Workload

PACKET_BYTES: Final = 90
"""Of one packet beside what it carries: Ethernet with its gap 38, IP 20, TCP with time stamps 32."""
SEGMENT_BYTES: Final = 1448
"""That one packet carries at most."""
HEAD_BYTES: Final[Mapping[Transport, tuple[int, int]]] = {"http": (180, 160), "native": (60, 60), "bray": (84, 56)}
"""Of a tick and of its answer beside their bodies, with a session id of 32 characters."""
REPORT_BYTES: Final = 32
"""Of a decision's answer from a remote model."""
_MIB: Final = 2**20


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bits a second of the whole cluster, into its machines."""

    ticks_in: float
    ticks_out: float
    decisions: float
    """Between actor replicas and remote models, both ways."""
    rows: float
    """From actor replicas to shards, and from there to learners."""
    gradients: float
    """Between learners."""
    weights_per_node: float
    """Of one node alone: every node takes every version once."""


def traffic(workload: Workload, publishes_per_s: float, steps_per_s: float, workers: int) -> Traffic:
    """Returns what a workload sends over the network.

    Args:
      workload: Games, model and learning.
      publishes_per_s: Versions of the weights a second.
      steps_per_s: Optimizer steps a second.
      workers: Learner workers, which add their gradients up in a ring.
    """
    asked, answered = HEAD_BYTES[workload.transport]
    rate, model = workload.ticks_per_s, workload.model
    remote = model.placement == "remote" and model.name != "none"
    moved = model.observation_bytes + REPORT_BYTES if remote else 0
    row_bytes = workload.learning.row_bytes if workload.learning else 0
    ring = 2 * (workers - 1) * model.weights_mb * _MIB if workers > 1 else 0.0
    acknowledged = PACKET_BYTES  # A game core's next tick comes too late to carry it.
    return Traffic(
        ticks_in=8 * rate * (on_the_wire(asked + workload.body_bytes) + acknowledged),
        ticks_out=8 * rate * on_the_wire(answered + workload.reply_bytes),
        decisions=8 * rate * moved,
        rows=8 * 2 * workload.rows_per_s * row_bytes,
        gradients=8 * steps_per_s * ring,
        weights_per_node=8 * publishes_per_s * model.weights_mb * _MIB,
    )


def on_the_wire(message_bytes: int) -> int:
    """Returns the bytes that a message takes with the heads of its packets."""
    return message_bytes + PACKET_BYTES * max(1, math.ceil(message_bytes / SEGMENT_BYTES))
