"""The version of what is installed; ``pyproject.toml`` is where it is written."""

from importlib.metadata import version as installed


def version() -> str:
    """Returns the version of this product, such as ``0.1.0``."""
    return installed("sparring")
