"""What a config says of a network, and the engine that runs it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from app.models.versions import Bound

if TYPE_CHECKING:
    from torch import nn

    from app.models.engine import Engine

GRAPHS: Final = "graphs"
"""Folder of the ONNX graphs under a project's state root."""


@dataclass(frozen=True, slots=True)
class Network:
    """What builds a network, and what is to run it."""

    factory: str
    """Import path of what returns it."""
    kwargs: Mapping[str, Any]
    seed: int
    """Its first parameters follow from it."""
    home: Path
    """State root of the project, where graphs are kept."""
    engine: Literal["torch", "onnx"] = "torch"
    bound: Bound = field(default_factory=Bound)
    """Versions that one engine may keep."""

    def build(self) -> "nn.Module":
        """Returns the network with its first parameters.

        Raises:
          PluginError: The factory is missing, or returns no network.
        """
        from app.models.module import build_module  # noqa: PLC0415  # Torch, which who only names a network needs not.

        return build_module(self.factory, self.kwargs, self.seed)

    def make_engine(self, device: str = "cpu") -> "Engine":
        """Returns an engine that runs the network with its first parameters.

        Args:
          device: Where torch is to answer.

        Raises:
          SparringError: The factory is missing, or ONNX Runtime cannot run what it returns.
        """
        module = self.build()
        if self.engine == "torch":
            from app.models.torch_engine import TorchEngine  # noqa: PLC0415  # Torch, as above.

            return TorchEngine(module, device, self.bound)
        from app.models.onnx_engine import OnnxEngine  # noqa: PLC0415  # Tens of MiB that torch does without.

        return OnnxEngine(module, self.home / GRAPHS, self.bound)
