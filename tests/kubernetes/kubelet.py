"""Stands for the machines of the cluster: a pod starts once what it mounts is there, prints a command and listens."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

from .kinds import kind_of
from .manifests import Tree
from .objects import Objects, RefusedError

CONFIG_MAPS: Final[Any] = kind_of("v1", "configmaps")
SECRETS: Final[Any] = kind_of("v1", "secrets")
CLAIMS: Final[Any] = kind_of("v1", "persistentvolumeclaims")
PODS: Final[Any] = kind_of("v1", "pods")
PULLS_S: Final = 1.0
"""How long a pod takes to start: images are pulled."""
RUNS_S: Final = 0.5
"""How long a container runs whose pod is not to start anew."""
MOST_BYTES: Final = 2**16
ASKED_S: Final = 30.0
"""How long a port waits for a request."""


class Kubelet:
    """Starts pods and ends those that are to end. No process runs in them."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._since_s: dict[tuple[str, str], float] = {}
        """Since when a pod is in its phase, by the pod's identity."""

    def look(self) -> None:
        """Lets each pod go on as far as it can."""
        for pod in self._objects.all(PODS):
            phase = pod.get("status", {}).get("phase", "")
            since_s = self._since_s.setdefault((pod["metadata"]["uid"], phase), time.monotonic())
            passed_s = time.monotonic() - since_s
            if phase in {"", "Pending"}:
                missing = self.missing(pod)
                if missing or passed_s < PULLS_S:
                    self._set(pod, "Pending", {"waiting": {"reason": "ContainerCreating", "message": missing}})
                else:
                    self._set(pod, "Running", {"running": {}}, ready=True)
            elif phase == "Running" and pod["spec"].get("restartPolicy") == "Never" and passed_s >= RUNS_S:
                self._set(pod, "Succeeded", {"terminated": {"exitCode": 0, "reason": "Completed"}})

    def missing(self, pod: Tree) -> str:
        """Returns what a pod waits for; empty if it waits for nothing."""
        for kind, name, key in _needs(pod):
            try:
                found = self._objects.get(kind, pod["metadata"]["namespace"], name)
            except RefusedError as error:
                return str(error)
            if key is not None and key not in found.get("data", {}):
                return f"couldn't find key {key} in {kind.name} {name}"
        return ""

    def log(self, pod: Tree) -> Iterator[str]:
        """Yields what a pod has printed: the command of its container, and that it has ended.

        Raises:
          RefusedError: It has not started.
        """
        (state,) = pod["status"]["containerStatuses"]
        name = f'container "{state["name"]}" in pod "{pod["metadata"]["name"]}"'
        if "waiting" in state["state"]:
            raise RefusedError(400, "BadRequest", f"{name} is waiting to start: {state['state']['waiting']['reason']}")
        container = pod["spec"]["containers"][0]
        yield " ".join([*container.get("command", []), *container.get("args", [])])
        if "terminated" in state["state"]:
            yield f"{name} ended"

    def dial(self, pod: Tree) -> Callable[[int], socket.socket]:
        """Returns what connects to a port of a pod, where one says over HTTP which pod and port it is."""

        def connect(port: int) -> socket.socket:
            listening = {one["containerPort"] for one in pod["spec"]["containers"][0].get("ports", [])}
            if pod["status"]["phase"] != "Running" or port not in listening:
                raise ConnectionRefusedError(f"{pod['metadata']['name']} does not listen on port {port}")
            ours, theirs = socket.socketpair()
            answer = f"{pod['metadata']['name']}:{port}"
            threading.Thread(target=_answer, args=(theirs, answer)).start()
            return ours

        return connect

    def _set(self, pod: Tree, phase: str, state: Tree, ready: bool = False) -> None:
        container = {"name": pod["spec"]["containers"][0]["name"], "ready": ready, "restartCount": 0, "state": state}
        condition = {"type": "Ready", "status": str(ready)}
        pod["status"] = {"phase": phase, "containerStatuses": [container], "conditions": [condition]}
        with contextlib.suppress(RefusedError):  # It is deleted meanwhile.
            self._objects.replace(PODS, pod)


def _needs(pod: Tree) -> Iterator[tuple[Any, str, str | None]]:
    for volume in pod["spec"].get("volumes", []):
        if "secret" in volume:
            yield SECRETS, volume["secret"]["secretName"], None
        if "configMap" in volume:
            yield CONFIG_MAPS, volume["configMap"]["name"], None
        if "persistentVolumeClaim" in volume:
            yield CLAIMS, volume["persistentVolumeClaim"]["claimName"], None
    for container in pod["spec"]["containers"]:
        for one in container.get("env", []):
            if "secretKeyRef" in one.get("valueFrom", {}):
                yield SECRETS, one["valueFrom"]["secretKeyRef"]["name"], one["valueFrom"]["secretKeyRef"]["key"]


def _answer(connection: socket.socket, text: str) -> None:
    with connection, contextlib.suppress(OSError):  # Who asked may be gone, or silent.
        connection.settimeout(ASKED_S)
        asked = b""
        while not asked.endswith(b"\r\n\r\n") and (piece := connection.recv(MOST_BYTES)):
            asked += piece
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(text)}\r\nConnection: close\r\n\r\n"
        connection.sendall((head + text).encode())
