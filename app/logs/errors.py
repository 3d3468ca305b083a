"""What went wrong lately, without end but with a bound."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from app.logs.entry import Entry

Severity = Literal["warning", "error"]
"""``error`` holds what is critical, too."""

MESSAGE_BEGINNING: Final = 60
"""Characters of a message by which errors without a traceback count as the same: what follows are figures."""


@dataclass(frozen=True, slots=True)
class Kept:
    """An error, and how often it came."""

    number: int
    """Grows with each error that comes, so that a reader can ask for what is new."""
    count: int
    """How often it came."""
    first_s: float
    """When it came first, in Unix seconds."""
    entry: Entry
    """The newest."""

    def as_dict(self, *, traceback: bool = True) -> dict[str, Any]:
        """Returns it as a JSON object, with or without the traceback."""
        fields = self.entry.as_dict()
        if not traceback:
            del fields["traceback"]
        return {"number": self.number, "count": self.count, "first_s": self.first_s} | fields


class Wanted(NamedTuple):
    """Which errors somebody wants to see."""

    severity: Severity = "error"
    """The least."""
    after: int = 0
    """Number behind which they begin."""
    limit: int = 100
    """The newest so many."""
    process: str = ""
    """Begin of the process's name; empty means all."""
    session: str = ""
    """Session; empty means all."""


class ErrorLog:
    """The newest errors and the newest warnings; the same one again is counted, and is the newest again."""

    def __init__(self, kept: int) -> None:
        """Begins empty.

        Args:
          kept: Different errors, and different warnings, that are kept; the ones that came longest ago go.
        """
        self._kept = kept
        self._by_kind: dict[Severity, OrderedDict[tuple[str, str, str], Kept]] = {
            "warning": OrderedDict(),
            "error": OrderedDict(),
        }
        self.counts: dict[str, int] = {"warning": 0, "error": 0, "forgotten": 0}
        """How many came, and how many different ones are no longer kept."""
        self._numbers = 0

    def add(self, entry: Entry) -> None:
        """Takes an error or a warning; what is less is passed over."""
        severity = severity_of(entry.level)
        if severity is None:
            return
        self.counts[severity] += 1
        self._numbers += 1
        found = self._by_kind[severity]
        before = found.pop(_kind(entry), None)
        count, first_s = (1, entry.time_s) if before is None else (before.count + 1, before.first_s)
        found[_kind(entry)] = Kept(self._numbers, count, first_s, entry)
        if len(found) > self._kept:
            found.popitem(last=False)
            self.counts["forgotten"] += 1

    def newest(self, wanted: Wanted) -> Sequence[Kept]:
        """Returns what somebody wants to see, the oldest first."""
        severities: tuple[Severity, ...] = ("warning", "error") if wanted.severity == "warning" else ("error",)
        found = [kept for severity in severities for kept in self._by_kind[severity].values() if _is(kept, wanted)]
        return sorted(found, key=lambda kept: kept.number)[-wanted.limit :]


def severity_of(level: str) -> Severity | None:
    """Returns how bad a level is; None for what is neither warning nor error."""
    severities: Mapping[str, Severity] = {"warning": "warning", "error": "error", "critical": "error"}
    return severities.get(level)


def _is(kept: Kept, wanted: Wanted) -> bool:
    entry = kept.entry
    return (
        kept.number > wanted.after
        and entry.process.startswith(wanted.process)
        and wanted.session in ("", entry.session)
    )


def _kind(entry: Entry) -> tuple[str, str, str]:
    """Returns by what errors are the same: the process, the module, and what was raised or said."""
    told = (
        entry.message[:MESSAGE_BEGINNING] if entry.traceback is None else entry.traceback.rstrip().rpartition("\n")[2]
    )
    return entry.process, entry.where, told
