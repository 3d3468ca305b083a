"""Reads the manifests as the cluster would, and makes the commands that KubeRay's operator makes of them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import yaml

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "configs" / "cluster" / "kubernetes"
FILES = sorted(FOLDER.rglob("*.yaml"))

Tree: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Pod:
    """A pod template.

    Attributes:
      where: File and place, for messages.
      labels: Labels of its pods.
      spec: Its ``spec``.
    """

    where: str
    labels: Mapping[str, str]
    spec: Tree

    @property
    def containers(self) -> list[Tree]:
        return list(self.spec["containers"])


@cache
def documents() -> list[tuple[str, Tree]]:
    """Returns all manifests, each with the name of its file."""
    return [(path.name, found) for path in FILES for found in yaml.safe_load_all(path.read_text(encoding="utf-8"))]


def named(kind: str, name: str) -> Tree:
    """Returns the only manifest of a kind and name."""
    (found,) = (d for _, d in documents() if d["kind"] == kind and d["metadata"]["name"] == name)
    return found


def pods() -> list[Pod]:
    """Returns all pod templates."""
    return [pod for file, document in documents() for pod in _pods(f"{file} {document['kind']}", document)]


def head() -> Tree:
    return dict(named("RayService", "sparring")["spec"]["rayClusterConfig"]["headGroupSpec"])


def workers(group: str) -> Tree:
    groups = named("RayService", "sparring")["spec"]["rayClusterConfig"]["workerGroupSpecs"]
    (found,) = (one for one in groups if one["groupName"] == group)
    return dict(found)


def ray_start(group: Tree, **replaced: str) -> list[str]:
    """Returns the ``ray start`` that the operator makes of a group's ``rayStartParams`` and resources.

    Args:
      group: ``headGroupSpec``, or one of ``workerGroupSpecs``.
      **replaced: Parameters that must be others here, since all nodes share one machine; ``_`` stands for ``-``.
    """
    requests = group["template"]["spec"]["containers"][0]["resources"]["requests"]
    given = {"num-cpus": requests["cpu"], "metrics-export-port": "8080", "dashboard-agent-listen-port": "52365"}
    given |= {"block": "true"} | group["rayStartParams"] | {key.replace("_", "-"): v for key, v in replaced.items()}
    first = ["--head"] if "groupName" not in group else []
    return ["ray", "start", *first, *(_flag(name, value) for name, value in sorted(given.items()))]


def environment(container: Tree, **replaced: str) -> dict[str, str]:
    """Returns a container's environment; what comes from elsewhere must be replaced, and is refused otherwise."""
    given = {one["name"]: one.get("value") for one in container.get("env", [])}
    whole = {name: replaced.get(name, value) for name, value in given.items()}
    missing = [name for name, value in whole.items() if value is None]
    assert not missing, f"no value here for {missing}"
    return {name: str(value) for name, value in whole.items()}


def port_of(container: Tree, name: str) -> int:
    """Returns the number of a container's port."""
    (found,) = (one["containerPort"] for one in container["ports"] if one["name"] == name)
    return int(found)


def _pods(where: str, document: Tree) -> Iterator[Pod]:
    spec = document.get("spec", {})
    if document["kind"] == "Deployment":
        yield _pod(where, spec["template"])
    if document["kind"] == "RayJob":
        yield _pod(where, spec["submitterPodTemplate"])
    if document["kind"] == "RayService":
        cluster = spec["rayClusterConfig"]
        yield _pod(f"{where} head", cluster["headGroupSpec"]["template"])
        for group in cluster["workerGroupSpecs"]:
            yield _pod(f"{where} {group['groupName']}", group["template"])


def _pod(where: str, template: Tree) -> Pod:
    return Pod(where, template["metadata"]["labels"], template["spec"])


def _flag(name: str, value: str) -> str:
    return f"--{name}" if value == "true" else f"--{name}={value}"
