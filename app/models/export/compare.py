"""Compares what a graph answers with what its network answers in torch."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from torch import nn

from app.errors import ExportError
from app.models.distributions.action import act, draws_of
from app.models.export.graph import Graph
from app.models.export.samples import Samples, random_samples
from app.models.export.shaken import shaken
from app.models.module import spec_of, to_arrays
from app.models.onnx_names import output_names
from app.models.onnx_session import OnnxSession
from app.models.question import Leaves
from app.models.spec import ModelSpec
from app.models.torch_engine import TorchEngine

SIZES: Final = (1, 2, 3, 17)
"""Batches that a graph is asked about: its example's, a smaller, a larger one, and one that no power of two divides."""
TOLERANCE: Final = 1e-4
"""Largest error of an exact graph, beside outputs of size 1; relative for larger ones. float32 sums in another order
differ by about a tenth of it."""
SEED: Final = 20_240


@dataclass(frozen=True, slots=True)
class Difference:
    """How far two answers to the same rows lie apart."""

    largest: float
    """Largest absolute error of any output."""
    relative: float
    """The same, where outputs above 1 in size count by their size."""
    output: str
    """Where it is."""
    value: float
    """Largest absolute error of the value; 0 where the model is no policy."""
    agreement: float
    """Share of rows with the same most probable action at all leaves; 1 where the model is no policy."""


def difference(
    spec: ModelSpec, wanted: tuple[Leaves, Leaves], got: tuple[Leaves, Leaves], asked: Samples
) -> Difference:
    """Returns how far two answers lie apart.

    Args:
      spec: The model's.
      wanted: Leaves of the answer and of the next state.
      got: The same from elsewhere.
      asked: The rows that both answer; its masks bound the actions.
    """
    names = output_names(spec)
    pairs = list(zip((*wanted[0], *wanted[1]), (*got[0], *got[1]), strict=True))
    absolute = [_largest(x, y) for x, y in pairs]
    relative = [_largest(x, y, relative=True) for x, y in pairs]
    worst = int(np.argmax(absolute))
    if not spec.is_policy:
        return Difference(absolute[worst], max(relative), names[worst], 0.0, 1.0)
    same = np.ones(asked.rows, bool)
    chosen = zip(_greedy(spec, wanted[0], asked), _greedy(spec, got[0], asked), strict=True)
    for leaf, (mine, theirs) in zip(spec.actions.leaves, chosen, strict=True):
        equal = mine == theirs if np.dtype(leaf.dtype).kind in "iub" else np.isclose(mine, theirs, atol=1e-2)
        same &= equal.reshape(asked.rows, -1).all(axis=1)
    return Difference(absolute[worst], max(relative), names[worst], absolute[names.index("value")], float(same.mean()))


def torch_answer(module: nn.Module, asked: Samples) -> tuple[Leaves, Leaves]:
    """Returns what the network answers in evaluation mode, as the trainer's side sees it."""
    answer = TorchEngine(module).forward(asked.inputs, asked.states)
    return answer.outputs, answer.states


def check_graph(module: nn.Module, graph: Graph) -> None:
    """Does nothing where the graph answers as the network does: for several sizes of batch, with random rows.

    Weights are exchanged for others first, so that one that was baked into the graph shows.

    Raises:
      ExportError: It answers otherwise; the message says where and by how much.
    """
    spec, other = spec_of(module), shaken(module)
    session = OnnxSession(graph, spec, to_arrays(other))
    for rows in SIZES:
        asked = random_samples(spec, rows, SEED + rows)
        try:
            wanted = torch_answer(other, asked)
            got = session.run(asked.inputs, asked.states)
        except Exception as error:  # The user's network and the binding raise what they like.
            raise ExportError(
                f"{type(module).__name__} does not answer batches of any size: at one of {rows} it fails with {error}"
            ) from error
        _check_shapes(spec, got, rows)
        found = difference(spec, wanted, got, asked)
        if not found.relative <= TOLERANCE:
            raise ExportError(
                f"the graph of {type(module).__name__} answers a batch of {rows} with an error of {found.largest:.3g} "
                f"in {found.output}; allowed is {TOLERANCE:g}"
            )


def _check_shapes(spec: ModelSpec, got: tuple[Leaves, Leaves], rows: int) -> None:
    leaves = (*spec.answers.leaves, *spec.states.leaves)
    for name, leaf, array in zip(output_names(spec), leaves, (*got[0], *got[1]), strict=True):
        if array.shape != (rows, *leaf.shape):
            raise ExportError(f"the graph answers a batch of {rows} with {name} of shape {array.shape}")


def _largest(wanted: NDArray[np.generic], got: NDArray[np.generic], *, relative: bool = False) -> float:
    wide, other = wanted.astype(np.float64), got.astype(np.float64)
    error = np.abs(wide - other)
    return float((error / np.maximum(1.0, np.abs(wide)) if relative else error).max(initial=0.0))


def _greedy(spec: ModelSpec, outputs: Leaves, asked: Samples) -> list[NDArray[np.generic]]:
    *dist_inputs, _ = outputs
    nothing = np.full((asked.rows, draws_of(spec.actions)), np.nan)
    return act(spec.actions, [x.astype(np.float32) for x in dist_inputs], nothing, asked.masks).actions
