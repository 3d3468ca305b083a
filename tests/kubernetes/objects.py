"""What the API server of the tests keeps: objects, their versions, and what happened to them."""

import copy
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

from .kinds import Kind
from .manifests import Tree

WAITS_S: Final = 0.1
"""How long a watcher waits before it looks whether it is to end."""
What: TypeAlias = Literal["ADDED", "MODIFIED", "DELETED"]


class RefusedError(Exception):
    """A request that is refused; it has the code and the reason that Kubernetes gives.

    ``problems`` are those of a manifest: what is wrong, by the path of the field.
    """

    def __init__(self, code: int, reason: str, message: str, problems: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.code, self.reason, self.problems = code, reason, problems or {}

    @property
    def status(self) -> Tree:
        """The answer."""
        causes = [{"reason": "FieldValueInvalid", "field": path, "message": why} for path, why in self.problems.items()]
        told = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": str(self)}
        return {**told, "reason": self.reason, "code": self.code, "details": {"causes": causes}}


class Event(NamedTuple):
    version: int
    what: What
    kind: Kind
    found: Tree


class Objects:
    """Objects of one cluster; calls come from many threads."""

    def __init__(self) -> None:
        self.changed = threading.Condition(threading.RLock())
        self._found: dict[tuple[Kind, str, str], Tree] = {}
        self._events: list[Event] = []
        self.ended = False

    @property
    def version(self) -> int:
        return len(self._events)

    def create(self, kind: Kind, namespace: str, given: Tree, owner: Tree | None = None) -> Tree:
        """Adds an object, with its identity.

        Args:
          kind: Its kind.
          namespace: Where.
          given: Its manifest.
          owner: The object with which it goes.

        Raises:
          RefusedError: There is one of that name.
        """
        found = copy.deepcopy(given)
        name = found["metadata"]["name"]
        with self.changed:
            if (kind, namespace, name) in self._found:
                raise RefusedError(409, "AlreadyExists", f'{kind.plural} "{name}" already exists')
            found |= {"apiVersion": kind.api, "kind": kind.name}
            created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            found["metadata"] |= {"namespace": namespace, "uid": str(uuid.uuid4()), "creationTimestamp": created}
            if owner is not None:
                own = {"name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"], "controller": True}
                found["metadata"]["ownerReferences"] = [
                    {"apiVersion": owner["apiVersion"], "kind": owner["kind"], **own}
                ]
            return self._keep("ADDED", kind, found)

    def get(self, kind: Kind, namespace: str, name: str) -> Tree:
        """Returns a copy of an object.

        Raises:
          RefusedError: There is none of that name.
        """
        with self.changed:
            if (kind, namespace, name) not in self._found:
                group = kind.api.rpartition("/")[0]
                where = f"{kind.plural}.{group}" if group else kind.plural
                raise RefusedError(404, "NotFound", f'{where} "{name}" not found')
            return copy.deepcopy(self._found[kind, namespace, name])

    def all(self, kind: Kind, namespace: str | None = None) -> list[Tree]:
        """Returns copies of all objects of a kind, by name."""
        with self.changed:
            found = [one for (own, where, _), one in self._found.items() if own == kind and namespace in {None, where}]
            return sorted(copy.deepcopy(found), key=lambda one: str(one["metadata"]["name"]))

    def replace(self, kind: Kind, changed: Tree) -> Tree:
        """Puts an object in the place of the one of its name, if it differs, and returns it."""
        with self.changed:
            current = self.get(kind, changed["metadata"]["namespace"], changed["metadata"]["name"])
            changed["metadata"]["resourceVersion"] = current["metadata"]["resourceVersion"]
            return self._keep("MODIFIED", kind, copy.deepcopy(changed)) if changed != current else current

    def delete(self, kind: Kind, namespace: str, name: str) -> Tree:
        """Takes an object away, and those that go with it."""
        with self.changed:
            gone = self.get(kind, namespace, name)
            del self._found[kind, namespace, name]
            self._note("DELETED", kind, gone)
            for (own, where, other), found in list(self._found.items()):
                owners = found["metadata"].get("ownerReferences", [])
                if gone["metadata"]["uid"] in {owner["uid"] for owner in owners}:
                    self.delete(own, where, other)
            return gone

    def watch(self, kind: Kind, namespace: str | None, version: int, until_s: float) -> Iterator[Event | None]:
        """Yields what happens to objects of a kind after a version, and None at times when nothing does."""
        while not self.ended and time.monotonic() < until_s:
            with self.changed:
                if self.version == version:
                    self.changed.wait(WAITS_S)
                events, version = self._events[version:], self.version
            found = [one for one in events if one.kind == kind]
            yield from (one for one in found if namespace in {None, one.found["metadata"]["namespace"]})
            if not found:
                yield None

    def end(self) -> None:
        """Lets all watchers end."""
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def _keep(self, what: What, kind: Kind, found: Tree) -> Tree:
        self._found[kind, found["metadata"]["namespace"], found["metadata"]["name"]] = found
        self._note(what, kind, found)
        return copy.deepcopy(found)

    def _note(self, what: What, kind: Kind, found: Tree) -> None:
        found["metadata"]["resourceVersion"] = str(self.version + 1)
        self._events.append(Event(self.version + 1, what, kind, copy.deepcopy(found)))
        self.changed.notify_all()


def selects(selector: str, labels: Mapping[str, str]) -> bool:
    """Returns whether a ``labelSelector`` of equalities takes an object with these labels.

    Raises:
      RefusedError: It is of another form.
    """
    for part in filter(None, selector.split(",")):
        name, sign, value = part.partition("=")
        if not sign or name.endswith("!"):
            raise RefusedError(400, "BadRequest", f"unable to parse requirement {part!r}: equalities are served here")
        if labels.get(name) != value.removeprefix("="):
            return False
    return True
