"""The lock file holds what the project needs, in the versions that are tested, each by its hash."""

import re
from importlib.metadata import distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from .lock import LOCK, ROOT, closure, required

LINE = re.compile(r"^([a-z0-9-]+)==(\S+)((?: --hash=sha256:[0-9a-f]{64})+)$")
LINES = [line for line in LOCK.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]


def locked() -> dict[str, str]:
    return {m[1]: m[2] for line in LINES if (m := LINE.match(line)) is not None}


def test_each_line_is_one_version_with_hashes() -> None:
    assert [line for line in LINES if LINE.match(line) is None] == []
    assert len(locked()) == len(LINES)


def test_the_versions_are_those_that_are_tested() -> None:
    pinned = dict(
        line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines() if re.match(r"[\w.-]+==", line)
    )
    tested = {canonicalize_name(name): version for name, version in pinned.items()}
    assert {name: version for name, version in locked().items() if tested.get(name) != version} == {}


def test_it_holds_what_the_project_needs_and_no_more() -> None:
    metadata = {name: {"requires_dist": distribution(name).requires or []} for name in locked()}
    assert closure(required(), metadata) == set(locked())


def test_a_closure_follows_extras_and_markers() -> None:
    metadata = {
        "a": {"requires_dist": ["b; extra == 'more'", "c; python_version < '3'", "d"]},
        "b": {},
        "c": {},
        "d": {"requires_dist": ["a"]},
    }
    assert closure([Requirement("a")], metadata) == {"a", "d"}
    assert closure([Requirement("a[more]")], metadata) == {"a", "b", "d"}
