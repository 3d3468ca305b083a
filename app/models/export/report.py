"""How near a released graph plays to its network, and whether that is near enough."""

from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
from torch import nn

from app.errors import ExportError, ReleaseRefusedError
from app.models.export.compare import SEED, SIZES, TOLERANCE, difference, torch_answer
from app.models.export.graph import Graph
from app.models.export.precision import Precision
from app.models.export.samples import Samples, random_samples
from app.models.module import spec_of
from app.models.onnx_session import OnnxSession

SCHEMA_VERSION: Final = 1
ALONE_ROWS: Final = 64
"""Rows that are also asked about one by one."""


@dataclass(frozen=True, slots=True)
class Report:
    """A released graph beside its network in torch."""

    model: str
    version: str
    """Version of the weights."""
    precision: Precision
    observations: str
    """``recorded`` or ``random``."""
    rows: int
    agreement: float
    """Share of rows with the same most probable action."""
    gate: float
    """Smallest agreement that is released."""
    max_abs_error: float
    max_abs_error_in: str
    """Output with that error."""
    value_error: float
    """Largest absolute error of the value."""
    row_error: float
    """Largest change of a row's answer when it is asked alone: 8 bits with ranges from the batch have one."""
    bytes: int
    """Size of the file."""
    scale: float
    """Largest output of the network in size, and at least 1; errors of an exact graph are measured against it."""
    schema_version: int = SCHEMA_VERSION

    @property
    def passed(self) -> bool:
        """Whether the graph may be released: it agrees often enough, and is exact where it says so."""
        exact = self.precision != "fp32" or self.max_abs_error <= TOLERANCE * self.scale
        return self.agreement >= self.gate and exact

    def as_dict(self) -> dict[str, Any]:
        """Returns it for JSON."""
        return asdict(self) | {"passed": self.passed}

    def metrics(self) -> dict[str, float]:
        """Returns its numbers by name."""
        names = ("agreement", "max_abs_error", "value_error", "row_error", "bytes")
        return {name: float(getattr(self, name)) for name in names}


def verify(
    module: nn.Module, proto: bytes, asked: Samples, precision: Precision, version: str, gate: float, name: str
) -> Report:
    """Returns how near a graph plays to its network.

    Args:
      module: The network with the released weights.
      proto: The graph.
      asked: The rows that both answer.
      precision: Of the graph.
      version: Of the weights.
      gate: Smallest share of equal actions.
      name: The model's.

    Raises:
      ExportError: The graph does not answer batches of any size, or answers with numbers that are not finite.
    """
    spec = spec_of(module)
    session = OnnxSession(Graph(proto, ()), spec)
    for rows in SIZES:
        _check_size(session, random_samples(spec, rows, SEED + rows), name, rows)
    wanted, got = torch_answer(module, asked), session.run(asked.inputs, asked.states)
    if not all(np.isfinite(leaf).all() for leaf in (*got[0], *got[1])):
        raise ExportError(f"{name} in {precision} answers with numbers that are not finite")
    found = difference(spec, wanted, got, asked)
    return Report(
        model=name,
        version=version,
        precision=precision,
        observations="recorded" if asked.recorded else "random",
        rows=asked.rows,
        agreement=found.agreement,
        gate=gate,
        max_abs_error=found.largest,
        max_abs_error_in=found.output,
        value_error=found.value,
        row_error=_row_error(session, asked.head(ALONE_ROWS)),
        bytes=len(proto),
        scale=max(1.0, *(float(np.abs(leaf).max(initial=0)) for leaf in (*wanted[0], *wanted[1]))),
    )


def refuse_if_below(report: Report) -> None:
    """Does nothing where the graph may be released.

    Raises:
      ReleaseRefusedError: It may not; the message has the number.
    """
    if report.passed:
        return
    if report.agreement < report.gate:
        raise ReleaseRefusedError(
            f"{report.model} in {report.precision} takes the same action as the network on {report.agreement:.2%} of "
            f"{report.rows} {report.observations} observations; the gate is {report.gate:.2%}. Its values differ by up "
            f"to {report.value_error:.3g}"
        )
    raise ReleaseRefusedError(
        f"{report.model} in {report.precision} differs from the network by {report.max_abs_error:.3g} in "
        f"{report.max_abs_error_in}; allowed is {TOLERANCE * report.scale:.3g}"
    )


def _check_size(session: OnnxSession, asked: Samples, name: str, rows: int) -> None:
    try:
        got = session.run(asked.inputs, asked.states)
    except Exception as error:  # The binding raises classes of its own without a common base.
        raise ExportError(f"{name} does not answer a batch of {rows}: {error}") from error
    if any(len(leaf) != rows for leaf in (*got[0], *got[1])):
        raise ExportError(f"{name} answers a batch of {rows} with {[leaf.shape for leaf in (*got[0], *got[1])]}")


def _row_error(session: OnnxSession, asked: Samples) -> float:
    outputs, states = session.run(asked.inputs, asked.states)
    largest = 0.0
    for row in range(asked.rows):
        alone = session.run([x[row : row + 1] for x in asked.inputs], [x[row : row + 1] for x in asked.states])
        for whole, single in zip((*outputs, *states), (*alone[0], *alone[1]), strict=True):
            change = np.abs(whole[row].astype(np.float64) - single[0].astype(np.float64))
            largest = max(largest, float(change.max(initial=0)))
    return largest
