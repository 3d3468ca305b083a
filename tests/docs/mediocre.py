"""A copy of the project whose expert plays so-so: it can be imitated, and surpassed, in little time."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import torch

from app.games.cartpole.model import build
from app.models.module import hash_of, to_arrays
from app.models.saved import SavedModel, write_model
from deployments.port import free_port

from .readme import Terminal, change, copy_project, reader_env


class Reader(NamedTuple):
    """Who types the commands of a page."""

    terminal: Terminal
    ports: dict[str, str]
    """Those that take the place of the page's."""
    folder: Path
    """Holds ``project``, ``expert`` and Ray's files."""

    @property
    def configs(self) -> Path:
        """Returns the folder of the project's configs."""
        return self.folder / "project" / "configs"


@contextmanager
def reader_of_a_mediocre_project(prefix: str) -> Iterator[Reader]:
    """Yields a reader in a copy of the project, beside the weights of an expert; ends what the reader started.

    Args:
      prefix: Of the folder's name.
    """
    ports = {port: str(free_port()) for port in ("36390", "8000")}
    with tempfile.TemporaryDirectory(prefix=prefix, dir="/tmp", ignore_cleanup_errors=True) as name:
        root = Path(name)
        copy_project(root / "project")
        write_mediocre_expert(root / "expert")
        for config in ("base", "imitation"):
            change(root / "project" / "configs" / f"{config}.yaml", actors__main__port=int(ports["36390"]))
        change(root / "project" / "serve_config.yaml", http_options__port=int(ports["8000"]))
        (root / "logs").mkdir()
        terminal = Terminal(root / "project", root / "logs", reader_env(root / "home") | {"RAY_TMPDIR": name})
        yield Reader(terminal, ports, root)
        terminal.stop_all()


def write_mediocre_expert(folder: Path) -> None:
    """Writes a policy that pushes against the pole's speed and looks at nothing else: about 190 ticks a game."""
    module = build()
    with torch.no_grad():
        for layer in (module.policy[0], module.policy[2], module.policy[4]):
            layer.weight.zero_()  # type: ignore[operator, union-attr]
        module.policy[0].weight[0, 3] = 1  # type: ignore[index]
        module.policy[2].weight[0, 0] = 1  # type: ignore[index]
        module.policy[4].weight[:, 0] = torch.tensor([-10.0, 10.0])  # type: ignore[index]
    folder.mkdir()
    write_model(folder, SavedModel("app.games.cartpole.model:build", {}, hash_of(module), "1.0", to_arrays(module)))
