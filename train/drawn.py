"""A network as the operations that it consists of, to be drawn."""

from typing import Any, Final

import torch
from torch import Tensor, nn

from app.errors import ExportError
from app.metrics.charts import Node
from app.models.module import call, spec_of
from app.models.spec import ArraySpec, ModelSpec

ROWS: Final = 2
"""Rows of the example that is followed through the network."""
REASON_MAX: Final = 300
"""Characters of torch's own words in a message."""


def drawn(module: nn.Module) -> list[Node]:
    """Returns a network's operations in their order, named by the parts of the network that they belong to.

    Raises:
      ExportError: torch cannot follow the network.
    """
    spec = spec_of(module)
    example = tuple(_example(leaf) for leaf in (*spec.inputs.leaves, *spec.states.leaves))
    training = module.training
    try:
        program = torch.export.export(_ByLeaves(module.eval(), spec), example, strict=False)
    except Exception as error:  # The user's network runs in there, and torch has no common base.
        reason = str(error.__cause__ or error).strip()[:REASON_MAX]
        raise ExportError(f"{type(module).__name__} cannot be drawn: {reason}") from error
    finally:
        module.train(training)
    names: dict[torch.fx.Node, str] = {}
    for node in program.graph.nodes:
        names[node] = _name(node)
    return [
        Node(names[node], _operation(node), tuple(names[one] for one in node.all_input_nodes), _shape(node))
        for node in program.graph.nodes
    ]


class _ByLeaves(nn.Module):
    """Takes and gives leaves, so that the graph has an input for each."""

    def __init__(self, module: nn.Module, spec: ModelSpec) -> None:
        super().__init__()
        self.network = module
        self._spec = spec

    def forward(self, *leaves: Tensor) -> tuple[Tensor, ...]:
        """Returns the answer and the next state."""
        inputs = len(self._spec.inputs)
        answer, state = call(self.network, self._spec, leaves[:inputs], leaves[inputs:])
        return (*answer, *state)


def _example(leaf: ArraySpec) -> Tensor:
    return torch.zeros(ROWS, *leaf.shape, dtype=getattr(torch, leaf.dtype))


def _name(node: torch.fx.Node) -> str:
    """Returns a node's name behind those of the modules that it stands in."""
    stack = node.meta.get("nn_module_stack") or {}
    path = [str(path) for path, _ in stack.values()]
    inner = path[-1] if path else ""
    if node.op == "placeholder" and node.name.startswith("p_"):
        return f"weights/{node.name.removeprefix('p_')}"
    return "/".join([*(part for part in inner.split(".") if part), node.name])


def _operation(node: torch.fx.Node) -> str:
    if node.op == "placeholder":
        return "Variable" if node.name.startswith("p_") else "Placeholder"
    return "Output" if node.op == "output" else str(node.target)


def _shape(node: torch.fx.Node) -> tuple[int, ...] | None:
    value: Any = node.meta.get("val")
    return tuple(int(size) for size in value.shape) if isinstance(value, Tensor) else None
