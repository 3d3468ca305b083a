"""Finds foreign packages that took the place of ours: ``app`` and ``train`` are common names."""

from importlib.util import find_spec
from pathlib import Path

from app.errors import SparringError

ROOT = Path(__file__).parent.parent
"""Folder that holds our packages."""

_SIBLINGS = ("train", "deployments")


def check_origin(root: Path = ROOT) -> None:
    """Raises if Python finds another package under one of our names; a package that is not installed passes.

    Args:
      root: Folder that holds our packages.

    Raises:
      SparringError: ``train`` or ``deployments`` lies elsewhere; the message says where.
    """
    for name in _SIBLINGS:
        spec = find_spec(name)
        if spec is None:
            continue
        places = list(spec.submodule_search_locations or [spec.origin or "built in"])
        found = [Path(place).resolve() for place in places]
        if (root / name).resolve() not in found[:1]:
            raise SparringError(
                f"another package named {name!r} hides Sparring's: found {', '.join(map(str, found))}, "
                f"expected {root / name}; remove it from the Python path or start elsewhere"
            )
