"""Graphs on disk, so that a network is written once and not by each replica."""

import hashlib
import logging
import os
from pathlib import Path
from typing import Final

import torch
from torch import nn

from app.errors import ExportError
from app.models.export.compare import check_graph
from app.models.export.graph import Graph, as_graph, export_graph
from app.models.module import hash_of

FORMAT: Final = 1
"""Grows when the way in which graphs are written changes."""

_log = logging.getLogger(__name__)


def cached_graph(module: nn.Module, folder: Path) -> Graph:
    """Returns the network's graph: from the folder where it fits, else written anew and put there.

    A graph from the folder is compared with the network like a new one, since code may have changed that no hash sees.

    Raises:
      ExportError: The network cannot be written, or its graph answers otherwise.
    """
    path = folder / f"{_key(module)}.onnx"
    known = _read(path)
    if known is not None:
        try:
            check_graph(module, known)
        except ExportError as error:
            _log.info("%s is written anew: %s", path, error)
        else:
            return known
    graph = export_graph(module)
    check_graph(module, graph)
    _write(path, graph)
    return graph


def _key(module: nn.Module) -> str:
    kind = type(module)
    parts = (FORMAT, torch.__version__, kind.__module__, kind.__qualname__, hash_of(module))
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def _read(path: Path) -> Graph | None:
    import onnx  # noqa: PLC0415  # Where torch runs the network, nobody needs it.

    try:
        return as_graph(onnx.load_model_from_string(path.read_bytes()))
    except FileNotFoundError:
        return None
    except Exception as error:  # noqa: BLE001  # What protobuf raises is no part of its interface.
        _log.warning("%s is damaged and is written anew: %s", path, error)
        return None


def _write(path: Path, graph: Graph) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(f".unfinished-{os.getpid()}")
        unfinished.write_bytes(graph.proto)
        unfinished.replace(path)
    except OSError as error:
        _log.warning("the graph is not kept for the next start: %s", error)
