"""What a soak found: a verdict, as JSON and to read."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.soak.ledger import Ledger

SLOPE_MAX_MIB: Final = 200.0
"""Growth an hour of one process beyond which memory leaks."""
JUDGED_S: Final = 1500.0
"""Samples of a process must span so long for its slope to be judged: buffers and caches fill in the first minutes."""


@dataclass(frozen=True)
class Recovery:
    """What became of one fault."""

    at_s: float
    kind: str
    games_s: float | None
    """Until each game had an answer again; None where it took too long."""
    well_s: float | None
    """Until what was hit did its work again; None as above."""


@dataclass
class Report:
    """All that is told."""

    seed: int
    seconds: float
    starts: int
    faults: Sequence[Recovery]
    ledger: Ledger
    rows: Mapping[str, int] = field(default_factory=dict)
    memory: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    training: Mapping[str, float] = field(default_factory=dict)
    looks: int = 0

    @property
    def problems(self) -> list[str]:
        """Returns why the soak has failed; none where it has not."""
        found = [f"{count} times {kind}" for kind, count in sorted(self.ledger.counts.items())]
        found += [f"the {r.kind} at {r.at_s:g} s: games had no answer again" for r in self.faults if r.games_s is None]
        found += [f"the {r.kind} at {r.at_s:g} s: it did not become well" for r in self.faults if r.well_s is None]
        found += [
            f"{part} grows by {told['mib_per_hour']} MiB an hour"
            for part, told in self.memory.items()
            if told["seconds"] >= JUDGED_S and told["mib_per_hour"] > SLOPE_MAX_MIB
        ]
        if not self.ledger.ticks:
            found.append("no tick was played")
        if not self.looks:
            found.append("the buffer was never looked at")
        if not self.training.get("updates"):
            found.append("nothing was learned")
        return found

    def as_dict(self) -> dict[str, Any]:
        """Returns it as a JSON object."""
        ledger = self.ledger
        return {
            "passed": not self.problems,
            "problems": self.problems,
            "seed": self.seed,
            "seconds": round(self.seconds, 1),
            "starts": self.starts,
            "ticks": ledger.ticks,
            "games": ledger.games,
            "games_lost": ledger.counts["lost"],
            "double_steps": ledger.counts["double"],
            "games_resumed": ledger.resumed,
            "ticks_forgotten": ledger.missed_ticks,
            "latency_ms": {name: ledger.percentile_ms(share) for name, share in SHARES.items()},
            "rows": dict(self.rows),
            "memory": {part: dict(told) for part, told in sorted(self.memory.items())},
            "training": dict(self.training),
            "faults": [asdict(recovery) for recovery in self.faults],
            "failures": ledger.failures,
        }

    def text(self) -> str:
        """Returns it to read, as Markdown."""
        told = self.as_dict()
        lines = [f"# Soak: {'passed' if told['passed'] else 'failed'}", ""]
        lines += [f"- {problem}" for problem in self.problems] + ([""] if self.problems else [])
        lines += ["| | |", "|---|---|"]
        lines += [
            f"| {name.replace('_', ' ')} | {told[name]} |" for name in FIGURES if not isinstance(told[name], Mapping)
        ]
        lines += [f"| latency {name} | {value} ms |" for name, value in told["latency_ms"].items()]
        lines += [f"| rows {name.replace('_', ' ')} | {count} |" for name, count in told["rows"].items()]
        lines += [f"| training {name.replace('_', ' ')} | {value:g} |" for name, value in told["training"].items()]
        lines += ["", "| At | Fault | Games answered again | Well again |", "|---|---|---|---|"]
        lines += [f"| {r.at_s:g} s | {r.kind} | {_seconds(r.games_s)} | {_seconds(r.well_s)} |" for r in self.faults]
        lines += ["", "| Process | MiB | MiB an hour | over |", "|---|---|---|---|"]
        lines += [
            f"| {part} | {m['mib']} | {m['mib_per_hour']} | {m['seconds']} s |" for part, m in told["memory"].items()
        ]
        lines += ["", *[f"    {failure}" for failure in told["failures"]]]
        return "\n".join(lines).rstrip() + "\n"

    def write(self, folder: Path) -> None:
        """Writes both."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "report.json").write_text(json.dumps(self.as_dict(), indent=1), encoding="utf-8")
        (folder / "report.md").write_text(self.text(), encoding="utf-8")


SHARES: Final = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99_9": 0.999, "max": 1.0}
FIGURES: Final = (
    "seed", "seconds", "starts", "ticks", "games", "games_lost", "double_steps", "games_resumed", "ticks_forgotten",
)  # fmt: skip


def _seconds(value: float | None) -> str:
    return "not in time" if value is None else f"{value:.1f} s"
