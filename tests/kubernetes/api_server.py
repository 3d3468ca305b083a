"""An API server of Kubernetes for tests: as much of the API as kubectl asks for the commands of docs/kubernetes.md.

It keeps objects in memory, refuses manifests with fields that ``schema`` does not know, and lets ``Controllers`` and
``Kubelet`` play what a cluster does with them. Who may do what is not asked.
"""

import json
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from jsonschema import Draft202012Validator

from app.wire.merge_patch import merge_patch
from app.wire.step_fields import MERGE_PATCH
from tests.http_thread import answering

from . import protobuf, schema, tables
from .controllers import Controllers
from .kinds import Kind, discovery, kind_of
from .kubelet import PODS, Kubelet
from .manifests import Tree
from .objects import Objects, RefusedError, selects
from .patches import strategically_merged
from .spdy import Forwarding

PATH: Final = re.compile(
    r"(?:/api/(?P<core>v1)|/apis/(?P<api>[^/]+/[^/]+))(?:/namespaces/(?P<namespace>[^/]+))?/(?P<plural>[a-z]+)"
    r"(?:/(?P<name>[^/]+))?(?:/(?P<part>log|portforward))?"
)
PATCHES: Final = {
    MERGE_PATCH: merge_patch,
    "application/strategic-merge-patch+json": strategically_merged,
}
WATCHED_S: Final = 300.0
"""How long a watch lasts whose client names no end."""
OPENAPI: Final = b"\x0a\x032.0"
"""A Swagger 2.0 document that describes nothing, as protobuf: kubectl then leaves it to the server to check fields."""
OPENAPI_TYPE: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
FOLLOWS_S: Final = 0.05
FORWARDS: Final = "portforward.k8s.io"


class ApiServer:
    """One cluster without machines.

    Attributes:
      objects: What is in it.
      url: Where it answers.
    """

    def __init__(self) -> None:
        self.objects = Objects()
        self.kubelet = Kubelet(self.objects)
        self.url = ""


@contextmanager
def api_server() -> Iterator[ApiServer]:
    """Runs an API server, with controllers, for as long as the block."""
    server = ApiServer()
    controllers = Controllers(server.objects, server.kubelet)
    with answering(lambda *given: _Handler(server, *given)) as server.url:
        controllers.start()
        try:
            yield server
        finally:
            server.objects.end()
            controllers.join()


class _Handler(BaseHTTPRequestHandler):
    """One connection; ``do_…`` are found by name."""

    protocol_version = "HTTP/1.1"

    def __init__(self, server: ApiServer, *given: Any) -> None:
        self._cluster = server
        super().__init__(*given)

    def log_message(self, *_: Any) -> None:
        """Says nothing: pytest shows what fails."""

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = urlsplit(self.path)
        self._query = {name: values[0] for name, values in parse_qs(path.query).items()}
        try:
            found = discovery(path.path)
            if path.path == "/openapi/v2":
                self._send_bytes(OPENAPI, OPENAPI_TYPE)
            elif found is None:
                self._object(path.path, body)
            else:
                self._send(200, found)
        except RefusedError as error:
            self._send(error.code, error.status)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer  # noqa: N815 - The base class names them.

    def _object(self, path: str, body: bytes) -> None:
        match = PATH.fullmatch(path)
        kind = match and kind_of(match["core"] or match["api"], match["plural"])
        if match is None or kind is None:
            raise RefusedError(404, "NotFound", "the server could not find the requested resource")
        namespace, name, objects = match["namespace"], match["name"], self._cluster.objects
        if match["part"]:
            pod = objects.get(PODS, namespace, name)
            self._log(pod) if match["part"] == "log" else self._forward(pod)
        elif self.command == "POST":
            given = protobuf.read(body) if protobuf.is_protobuf(body) else json.loads(body)
            self._send(201, objects.create(kind, namespace, self._checked(kind, given)))
        elif name is None:
            self._list(kind, namespace)
        elif self.command == "PATCH":
            patched = self._patched(objects.get(kind, namespace, name), json.loads(body))
            patched["metadata"].setdefault("namespace", namespace)
            self._send(200, objects.replace(kind, self._checked(kind, patched)))
        elif self.command == "PUT":
            self._send(200, objects.replace(kind, self._checked(kind, json.loads(body))))
        elif self.command == "DELETE":
            gone = objects.delete(kind, namespace, name)
            details = {"name": name, "group": kind.api.rpartition("/")[0], "kind": kind.plural}
            told = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
            self._send(200, told | {"details": details | {"uid": gone["metadata"]["uid"]}})
        else:
            self._send(200, tables.shown(kind, [objects.get(kind, namespace, name)], self._accepts, single=True))

    def _patched(self, current: Tree, patch: Tree) -> Tree:
        content = self.headers.get("Content-Type", "")
        if content not in PATCHES:
            raise RefusedError(415, "UnsupportedMediaType", f"patches here are {sorted(PATCHES)}, got {content}")
        return dict(PATCHES[content](current, patch))

    @staticmethod
    def _checked(kind: Kind, given: Tree) -> Tree:
        known = schema.KINDS.get(kind.name)
        metadata = {name: value for name, value in given["metadata"].items() if name in {"name", "labels"}}
        written = {name: value for name, value in given.items() if name != "status"} | {"metadata": metadata}
        errors = Draft202012Validator(known).iter_errors(written) if known else ()
        problems = {".".join(map(str, error.path)): error.message[:200] for error in errors}
        if problems:
            told = "; ".join(f"{path}: {why}" for path, why in problems.items())
            raise RefusedError(422, "Invalid", f'{kind.name} "{metadata["name"]}" is invalid: {told}', problems)
        return given

    @property
    def _accepts(self) -> str:
        return str(self.headers.get("Accept", ""))

    def _selected(self, found: Tree) -> bool:
        field = self._query.get("fieldSelector", "").removeprefix("metadata.name=")
        labels = found["metadata"].get("labels", {})
        return field in {"", found["metadata"]["name"]} and selects(self._query.get("labelSelector", ""), labels)

    def _list(self, kind: Kind, namespace: str | None) -> None:
        objects = self._cluster.objects
        if self._query.get("watch") in {"1", "true"}:
            until_s = time.monotonic() + float(self._query.get("timeoutSeconds", WATCHED_S))
            events = objects.watch(kind, namespace, int(self._query.get("resourceVersion") or 0), until_s)
            told = (event and {"type": event.what, "object": event.found} for event in events if not event
                    or self._selected(event.found))  # fmt: skip
            self._stream(json.dumps(one) + "\n" if one else "" for one in told)
            return
        with objects.changed:
            found, version = [one for one in objects.all(kind, namespace) if self._selected(one)], objects.version
        self._send(200, tables.shown(kind, found, self._accepts, version=version))

    def _log(self, pod: Tree) -> None:
        lines = list(self._cluster.kubelet.log(pod))
        self._stream(self._followed(pod, lines) if self._query.get("follow") == "true" else (f"{x}\n" for x in lines))

    def _followed(self, pod: Tree, lines: list[str]) -> Iterator[str]:
        told, objects = 0, self._cluster.objects
        while not objects.ended:
            yield "".join(f"{line}\n" for line in lines[told:])
            told = len(lines)
            with objects.changed:
                if "terminated" in pod["status"]["containerStatuses"][0]["state"]:
                    return
                objects.changed.wait(FOLLOWS_S)
            try:
                pod = objects.get(PODS, pod["metadata"]["namespace"], pod["metadata"]["name"])
            except RefusedError:
                return
            lines = list(self._cluster.kubelet.log(pod))

    def _forward(self, pod: Tree) -> None:
        if self.headers.get("Upgrade", "").lower() != "spdy/3.1":
            raise RefusedError(400, "BadRequest", "ports are forwarded over SPDY/3.1 here")
        self.send_response(101)
        for name, value in (
            ("Connection", "Upgrade"),
            ("Upgrade", "SPDY/3.1"),
            ("X-Stream-Protocol-Version", FORWARDS),
        ):
            self.send_header(name, value)
        self.end_headers()
        Forwarding(self.rfile, self.wfile, self._cluster.kubelet.dial(pod)).serve()
        self.close_connection = True

    def _send(self, code: int, told: Tree) -> None:
        self._send_bytes(json.dumps(told).encode(), "application/json", code)

    def _send_bytes(self, body: bytes, content: str, code: int = 200) -> None:
        self.send_response(code)
        self.send_header("Content-Type", content)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, parts: Iterable[str]) -> None:
        """Sends parts as they come, until kubectl hangs up."""
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for part in filter(None, parts):
                body = part.encode()
                self.wfile.write(b"%x\r\n%s\r\n" % (len(body), body))
                self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")
        except ConnectionError:
            self.close_connection = True
