"""Turns batches as stored into batches as the model takes them, by the user's function."""

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from app.errors import SourceError
from app.plugins import load_plugin
from app.sources.fitting import Field, fitted
from app.types import Rows

OURS: Final = (
    "reward",
    "log_prob",
    "value",
    "kind",
    "weight",
    "generation",
    "version",
    "episode",
    "tick",
    "policy_target",
)
"""Columns that a function may leave out, which stay as they were."""


class Preprocess:
    """One function of a source, and what its result must be."""

    def __init__(self, name: str, path: str, fields: Mapping[str, Field]) -> None:
        """Imports the function.

        Args:
          name: Of the source, for messages.
          path: ``package.module:name``.
          fields: What each column of the model's rows may hold.

        Raises:
          PluginError: There is no such function.
        """
        self._where = f"sources.{name}.preprocess {path}"
        self._apply = cast("Callable[[dict[str, NDArray[Any]]], Mapping[str, Any]]", load_plugin(path))
        self._fields = fields

    def __call__(self, stored: Mapping[str, NDArray[Any]]) -> Rows:
        """Returns the model's rows of a batch, as many as it had.

        Raises:
          SourceError: The function gives something else.
        """
        rows = len(stored["kind"])
        made = self._apply(dict(stored))
        found: Rows = {}
        for name, field in self._fields.items():
            column = made.get(name, stored.get(name) if name in OURS else None)
            if column is None and name.startswith("action_mask"):
                column = np.ones((rows, *field.shape), field.dtype)
            if column is None:
                raise SourceError(f"{self._where} gives {', '.join(sorted(made))}; {name} is missing, as {field}")
            column = np.asarray(column)
            if len(column) != rows:
                raise SourceError(f"{self._where} gives {len(column)} rows of {name}; allowed is {rows}, row by row")
            found[name] = fitted(column, field, self._where, name)
        return found
