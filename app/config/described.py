"""Descriptions of a config's fields, out of the strings below them in the source.

Pydantic would read the sources of all classes whenever one is imported, for 0.2 s of each process that has a config;
they are read here, when somebody asks for the schema.
"""

import ast
import inspect
import textwrap
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from app.config.base import Config


class Described(GenerateJsonSchema):
    """Makes a schema whose fields tell what they are."""

    def model_schema(self, schema: Any) -> dict[str, Any]:
        """Returns the schema of a class and its fields; see pydantic's."""
        found = super().model_schema(schema)
        texts = descriptions_of(schema["cls"])
        for name, node in found["properties"].items():
            if name in texts:
                node["description"] = texts[name]
        return found


def descriptions_of(model: type) -> Mapping[str, str]:
    """Returns the strings below a class's fields and those of its bases, by the fields' names."""
    texts: dict[str, str] = {}
    for part in reversed(model.__mro__):
        if issubclass(part, Config) and part is not Config:
            texts |= _own(part)
    return texts


@cache
def _own(part: type) -> Mapping[str, str]:
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(part))).body
    texts: dict[str, str] = {}
    for above, below in pairwise(ast.iter_child_nodes(tree)):
        match above, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                texts[name] = inspect.cleandoc(text)
    return texts
