"""Updates that MLflow has not got yet name their store by its address, which moves with the project."""

import json
from pathlib import Path
from typing import Final

SUFFIX: Final = ".unsent"
_ADDRESS: Final = "sqlite:///"


def move_unsent(path: Path, old: Path, new: Path) -> bool:
    """Names the store of a file of unsent updates by its new place; returns whether that was such a file.

    Args:
      path: Any file; others than those of unsent updates, or of a store elsewhere, stay as they are.
      old: Folder that the project had.
      new: Folder that it has from now on.
    """
    if path.suffix != SUFFIX or not path.is_file():
        return False
    head, newline, rest = path.read_bytes().partition(b"\n")
    try:
        told = json.loads(head)
        uri = str(told["uri"])
    except (ValueError, KeyError, TypeError):
        return False
    before = f"{_ADDRESS}{old}/"
    if not uri.startswith(before):
        return False
    told["uri"] = f"{_ADDRESS}{new}/{uri.removeprefix(before)}"
    path.write_bytes(json.dumps(told).encode() + newline + rest)
    return True
