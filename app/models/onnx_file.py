"""A ready ONNX file as a model: ``factory: "app.models.onnx_file:load"``."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor, nn

from app.errors import ExportError, PluginError
from app.models.distributions.categorical import Categorical
from app.models.export.graph import Graph
from app.models.export.samples import random_samples
from app.models.module import ModelOutput, PolicyOutput
from app.models.onnx_file_graph import FREE_AXIS, FileGraph, Port, read_file, with_our_names
from app.models.onnx_names import output_names
from app.models.onnx_session import OnnxSession
from app.models.spec import ArraySpec, ModelSpec
from app.nested import Nested, Structure

SIZES: Final = (1, 2, 3, 7)
"""Batches that a file must answer."""
TOLERANCE: Final = 1e-4
"""A row's answer may differ by so much from that in another batch: sums run in another order."""


class OnnxFile(nn.Module):
    """A network that ONNX Runtime runs wherever it stands; it has no weights that could be trained or exchanged."""

    def __init__(self, graph: Graph, spec: ModelSpec) -> None:
        super().__init__()
        self.spec = spec
        self.graph = graph
        """With our names of inputs and outputs, whatever the file calls them."""
        self._session = OnnxSession(graph, spec)

    def forward(self, observation: Any, state: Any = None) -> Any:
        """Returns what the file answers, as the contract of a network wants it."""
        inputs = [_array(leaf) for leaf in self.spec.inputs.flatten(observation)]
        states = [_array(leaf) for leaf in self.spec.states.flatten(state)]
        outputs, following = self._session.run(inputs, states)
        answers = [torch.from_numpy(leaf) for leaf in outputs]
        nested = self.spec.states.unflatten([torch.from_numpy(leaf) for leaf in following]) if following else None
        if self.spec.is_policy:
            return PolicyOutput(self.spec.actions.unflatten(answers[:-1]), answers[-1], nested)
        whole = self.spec.answers.unflatten(answers)
        return ModelOutput(whole, nested) if following else whole

    def __deepcopy__(self, memo: dict[int, Any]) -> "OnnxFile":
        return self  # Nothing in it changes.


def load(
    path: str,
    observation: Nested[str] | None = None,
    policy: Mapping[str, Any] | None = None,
    state: Mapping[str, str] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
) -> OnnxFile:
    """Returns the model of a file.

    Args:
      path: The ``.onnx`` file; a relative path starts at the working directory.
      observation: Names of inputs, nested as the observation is to be; None takes all that are no state: one alone, or
        several as a dict by name, in which a slash in a name becomes a dot.
      policy: Names of outputs: ``dist_inputs`` (logits; nested as the action is to be) and ``value``, which may be left
        out. None makes a model that is no policy and answers with all outputs that are no state.
      state: For each input that carries the state, the output that it comes back as.
      shapes: Sizes behind the batch axis of inputs that the file leaves open.

    Raises:
      PluginError: The file cannot be used; the message says what is wrong with it.
    """
    file = read_file(Path(path), shapes or {})
    carried = dict(state or {})
    names = _named(file.inputs, observation, carried, f"{path} has no input")
    state_names = Structure[str](_by_key(carried))
    ins = {name: file.input(name) for name in (*names.leaves, *state_names.leaves)}
    spec, outputs = _spec(file, names, state_names, carried, policy)
    returned = [*outputs, *(file.output(carried[name]) for name in state_names.leaves)]
    proto = with_our_names(file, spec, list(ins.values()), returned)
    model = OnnxFile(_usable(path, proto, spec), spec)
    _check_batches(path, model)
    return model


def _spec(
    file: FileGraph,
    names: Structure[str],
    state_names: Structure[str],
    carried: Mapping[str, str],
    policy: Mapping[str, Any] | None,
) -> tuple[ModelSpec, list[Port | None]]:
    """Returns the model's spec and the outputs behind its answers; None stands for a value that the file lacks."""
    observation = names.unflatten([_array_spec(file.input(name)) for name in names.leaves])
    state = None
    if len(state_names):
        state = state_names.unflatten([_array_spec(file.input(name)) for name in state_names.leaves])
    if policy is None:
        wanted = _named(file.outputs, None, dict.fromkeys(carried.values(), ""), f"{file.path} has no output")
        ports = [file.output(name) for name in wanted.leaves]
        answers = wanted.unflatten([_array_spec(port) for port in ports])
        return ModelSpec(observation, state=state, outputs=answers), list(ports)
    unknown = set(policy) - {"dist_inputs", "value"}
    if unknown or "dist_inputs" not in policy:
        raise PluginError(f"policy has the keys {sorted(policy)}; allowed are dist_inputs, which it needs, and value")
    dist = Structure[str](policy["dist_inputs"])
    logits = [file.output(name) for name in dist.leaves]
    for port in logits:
        if len(port.shape) != 1:
            raise PluginError(f"{file.path} gives {port.name} of shape [B, *{port.shape}]; logits are [B, choices]")
    action = dist.unflatten([Categorical(port.shape[0]) for port in logits])
    value = policy.get("value")
    worth = None if value is None else file.output(value)
    if worth is not None and worth.shape not in {(), (1,)}:
        raise PluginError(f"{file.path} gives {worth.name} of shape [B, *{worth.shape}]; a value is [B] or [B, 1]")
    return ModelSpec(observation, action, state), [*logits, worth]


def _named(
    ports: Mapping[str, Port], nested: Nested[str] | None, taken: Mapping[str, str], missing: str
) -> Structure[str]:
    """Returns which ports are meant, nested."""
    if nested is None:
        left = [name for name in ports if name not in taken]
        nested = left[0] if len(left) == 1 else _by_key(left)
    found = Structure[str](nested)
    for name in found.leaves:
        if name not in ports:
            raise PluginError(f"{missing} {name!r}; it has {', '.join(ports)}")
    return found


def _by_key(names: Iterable[str]) -> Any:
    return {name.replace("/", "."): name for name in names} or None


def _array_spec(port: Port) -> ArraySpec:
    return ArraySpec(port.shape, port.dtype)


def _usable(path: str, proto: bytes, spec: ModelSpec) -> Graph:
    graph = Graph(proto, ())
    try:
        OnnxSession(graph, spec)
    except ExportError as error:
        raise PluginError(f"{path}: {error}") from error
    return graph


def _check_batches(path: str, model: OnnxFile) -> None:
    """Raises where the file does not answer batches of any size, or mixes their rows."""
    asked = random_samples(model.spec, max(SIZES), seed=0)
    whole: list[Any] = []
    for rows in sorted(SIZES, reverse=True):
        part = asked.head(rows)
        try:
            outputs, states = model._session.run(part.inputs, part.states)  # Of this very file.
        except Exception as error:  # The binding raises classes of its own without a common base.
            raise PluginError(f"{path} fails at a batch of {rows}: {error}; {FREE_AXIS}") from error
        found = [*outputs, *states]
        whole = whole or found
        for name, got, wanted in zip(output_names(model.spec), found, whole, strict=True):
            if got.ndim == 0 or len(got) != rows:
                raise PluginError(f"{path} answers a batch of {rows} with {name} of shape {got.shape}; {FREE_AXIS}")
            if not np.allclose(got, wanted[:rows], rtol=TOLERANCE, atol=TOLERANCE):
                raise PluginError(
                    f"{path} answers {name} of a row otherwise in a batch of {rows} than in one of {max(SIZES)}: its "
                    "rows are not independent; export it in evaluation mode"
                )


def _array(leaf: Tensor) -> Any:
    return leaf.detach().cpu().numpy()
