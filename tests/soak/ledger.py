"""What the games of a soak have seen, and what it amounts to; no I/O, so that it can be kept and gone on with."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final

PER_DECADE: Final = 40
"""Buckets of latencies for each power of ten: 6 % apart."""
FAILURES_KEPT: Final = 20
"""Messages that a report shows; all are counted."""


@dataclass
class Ledger:
    """Sums over all starts of a soak."""

    ticks: int = 0
    games: int = 0
    """Games played to their end."""
    resumed: int = 0
    """Times that a game went on from a snapshot."""
    missed_ticks: int = 0
    """Ticks that those games have forgotten."""
    counts: Counter[str] = field(default_factory=Counter)
    """Faults found, by kind: lost, wrong_session, double, wrong_sum, forgot_too_much, error."""
    failures: list[str] = field(default_factory=list)
    latencies: Counter[int] = field(default_factory=Counter)

    def fail(self, kind: str, message: str) -> None:
        """Notes what should not have been."""
        self.counts[kind] += 1
        if len(self.failures) < FAILURES_KEPT:
            self.failures.append(f"{kind}: {message}")

    def took(self, seconds: float) -> None:
        """Notes how long an answer took."""
        self.latencies[math.floor(PER_DECADE * math.log10(max(seconds, 1e-6)))] += 1

    def percentile_ms(self, share: float) -> float | None:
        """Returns the time within which a share of the answers came, up to 6 % more; None before the first."""
        wanted, seen = share * self.latencies.total(), 0
        for bucket in sorted(self.latencies):
            seen += self.latencies[bucket]
            if seen >= wanted:
                return float(round(1000 * 10 ** ((bucket + 1) / PER_DECADE), 2))
        return None

    def as_dict(self) -> dict[str, Any]:
        """Returns what ``ledger_of`` reads."""
        told: dict[str, Any] = {part.name: getattr(self, part.name) for part in fields(self)}
        latencies = {str(bucket): count for bucket, count in self.latencies.items()}
        return told | {"counts": dict(self.counts), "failures": list(self.failures), "latencies": latencies}


def ledger_of(told: Mapping[str, Any]) -> Ledger:
    """Returns the ledger of ``Ledger.as_dict``."""
    latencies = Counter({int(bucket): count for bucket, count in told["latencies"].items()})
    return Ledger(**{**told, "counts": Counter(told["counts"]), "latencies": latencies})


@dataclass
class GameRecord:
    """What one game core knows of its game; each answer must agree with it."""

    session: str
    keeps_every: int
    """Ticks between two snapshots: more a game may not forget at a time."""
    seq: int = 0
    total: int = 0
    missed: int = 0

    def sent(self, value: int) -> None:
        """Notes the next tick."""
        self.seq += 1
        self.total += value

    def check(self, answer: Mapping[str, Any], ledger: Ledger) -> bool:
        """Returns whether an answer is that of this game's newest tick, played once; else the ledger has it."""
        what = f"{self.session} tick {self.seq}: {dict(answer)}, with the sum {self.total}"
        if answer["session"] != self.session:
            ledger.fail("wrong_session", what)
            return False
        forgotten = answer["missed"] - self.missed
        if forgotten:
            ledger.resumed += 1
            ledger.missed_ticks += forgotten
            self.missed, self.total = answer["missed"], answer["total"]
            if not 0 < forgotten <= self.keeps_every:
                ledger.fail("forgot_too_much", what)
                return False
        if answer["ticks"] != self.seq:
            ledger.fail("double" if answer["ticks"] > self.seq else "lost_tick", what)
            return False
        if answer["total"] != self.total:
            ledger.fail("wrong_sum", what)
            return False
        return True


def slope_per_hour(samples: Sequence[tuple[float, float]]) -> float | None:
    """Returns by how much values grow an hour, by least squares; None for less than three.

    Args:
      samples: Seconds and values.
    """
    if len(samples) < 3:
        return None
    mean_t = sum(t for t, _ in samples) / len(samples)
    mean_y = sum(y for _, y in samples) / len(samples)
    spread = sum((t - mean_t) ** 2 for t, _ in samples)
    return None if not spread else 3600 * sum((t - mean_t) * (y - mean_y) for t, y in samples) / spread
