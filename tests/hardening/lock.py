"""Writes ``requirements.lock``: what the service needs, each file by its hash.

``pip install --dry-run --ignore-installed --no-deps --report build/report.json -r constraints.txt``, then
``python -m tests.hardening.lock build/report.json``. What else a version may come as (another build of torch) is given
as a further report.
"""

import json
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "requirements.lock"
EXTRAS = ("server", "games")
"""What the image has: no tools of development."""
HEADER = """\
# What .[server,games] needs, for Linux on x86-64 and Python 3.11; versions are those of constraints.txt. Written by
# python -m tests.hardening.lock, see CONTRIBUTING.md. pip install --require-hashes --no-deps -r requirements.lock
"""


def main(paths: Iterable[str]) -> None:
    """Writes the lock file out of pip's reports; the first one counts, the others add hashes."""
    first, *others = ([*_items(Path(path))] for path in paths)
    found = {_name(item): [item] for item in first}
    for item in chain.from_iterable(others):
        found[_name(item)].append(item)
    names = sorted(closure(required(), {name: items[0]["metadata"] for name, items in found.items()}))
    lines = [_line(name, found[name]) for name in names]
    LOCK.write_text(HEADER + "\n".join(lines) + "\n", encoding="utf-8")


def required() -> list[Requirement]:
    """Returns what the project itself asks for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [*_asked(project["dependencies"], project), *(one for extra in EXTRAS for one in _extra(extra, project))]


def _extra(name: str, project: Mapping[str, Any]) -> Iterator[Requirement]:
    yield from _asked(project["optional-dependencies"][name], project)


def _asked(texts: Iterable[str], project: Mapping[str, Any]) -> Iterator[Requirement]:
    """Gives what others have made; an extra of the project itself stands for what is in it."""
    for one in map(Requirement, texts):
        if one.name == project["name"]:
            for extra in one.extras:
                yield from _extra(extra, project)
        else:
            yield one


def closure(wanted: Iterable[Requirement], metadata: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """Returns the names of all that is needed, with what that needs in turn."""
    asked: set[tuple[str, str]] = set()
    queue = [(canonicalize_name(one.name), extra) for one in wanted if _applies(one, "") for extra in ("", *one.extras)]
    while queue:
        name, extra = queue.pop()
        if (name, extra) in asked:
            continue
        asked.add((name, extra))
        for text in metadata[name].get("requires_dist", []):
            one = Requirement(text)
            if _applies(one, extra):
                queue += [(canonicalize_name(one.name), more) for more in ("", *one.extras)]
    return {name for name, _ in asked}


def _applies(one: Requirement, extra: str) -> bool:
    return one.marker is None or one.marker.evaluate({"extra": extra})


def _items(path: Path) -> Iterator[dict[str, Any]]:
    yield from json.loads(path.read_text(encoding="utf-8"))["install"]


def _name(item: Mapping[str, Any]) -> str:
    return canonicalize_name(item["metadata"]["name"])


def _line(name: str, items: list[dict[str, Any]]) -> str:
    version = str(items[0]["metadata"]["version"]).partition("+")[0]  # A local version is another build of the same.
    hashes = sorted({item["download_info"]["archive_info"]["hashes"]["sha256"] for item in items})
    return " ".join([f"{name}=={version}", *(f"--hash=sha256:{value}" for value in hashes)])


if __name__ == "__main__":
    main(sys.argv[1:])
