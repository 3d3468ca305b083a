"""A copy of the project whose expert plays so-so: it can be imitated, and surpassed, in little time."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from app.games.cartpole.model import build
from app.models.module import hash_of, to_arrays
from app.models.saved import SavedModel, write_model

from .reader import Reader, reader_of_a_copy
from .readme import change


@contextmanager
def reader_of_a_mediocre_project(prefix: str) -> Iterator[Reader]:
    """Yields a reader in a copy of the project, beside the weights of an ``expert``; ends what the reader started.

    Args:
      prefix: Of the folder's name.
    """
    with reader_of_a_copy(prefix) as reader:
        write_mediocre_expert(reader.folder / "expert")
        change(reader.configs / "imitation.yaml", actors__main__port=int(reader.ports["36390"]))
        yield reader


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
