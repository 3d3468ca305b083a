"""How objects are listed: as they are, or as the table that ``kubectl get`` prints."""

from .kinds import Kind
from .manifests import Tree

TABLE = "as=Table;v=v1;g=meta.k8s.io"


def shown(kind: Kind, found: list[Tree], accepts: str, version: int = 0, single: bool = False) -> Tree:
    """Returns an answer with objects.

    Args:
      kind: Their kind.
      found: The objects.
      accepts: The request's header.
      version: Of the whole, from which a watch goes on.
      single: Whether one object was asked for by its name.
    """
    metadata = {"resourceVersion": str(version)}
    if TABLE in accepts:
        columns = ["Name", *(("Ready", "Status", "Restarts") if kind.name == "Pod" else ()), "Created At"]
        rows = [{"cells": _cells(kind, one), "object": one} for one in found]
        named = [{"name": name, "type": "string", "format": ""} for name in columns]
        table = {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata}
        return {**table, "columnDefinitions": named, "rows": rows}
    if single:
        return found[0]
    return {"kind": f"{kind.name}List", "apiVersion": kind.api, "metadata": metadata, "items": found}


def _cells(kind: Kind, found: Tree) -> list[str]:
    created = found["metadata"]["creationTimestamp"]
    if kind.name != "Pod":
        return [found["metadata"]["name"], created]
    (state,) = found["status"]["containerStatuses"]
    (now,) = state["state"].values()
    status = now.get("reason", found["status"]["phase"])
    return [found["metadata"]["name"], f"{int(state['ready'])}/1", status, str(state["restartCount"]), created]
