"""What the release store knows of one model: its versions, the plan, and what the versions did. No I/O."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from app.config.release import Release, RollBack
from app.metrics import names
from app.metrics.registry import Registry
from app.releases.plan import Barred, Named, Plan, Standing, Wishes, next_plan, played_as
from app.releases.statistics import Cohort, ShadowStatistics, Statistics
from app.releases.verdict import Evidence, Looks, Thresholds, judge
from app.types import Version


class Growth(NamedTuple):
    """What a replica's sessions did since its last report."""

    statistics: Mapping[Cohort, Statistics]
    dropped: Mapping[Version, int]
    """Observations that the shadow of a version was not asked."""


@dataclass(slots=True)
class ModelState:
    """One model's releases."""

    release: Release
    plan: Plan = field(default_factory=Plan)
    wishes: Wishes = field(default_factory=Wishes)
    usable: set[int] = field(default_factory=set)
    """Registered versions that are loaded and were found good."""
    refused: dict[int, str] = field(default_factory=dict)
    rolled_back: dict[int, str] = field(default_factory=dict)
    unmarked: dict[int, str] = field(default_factory=dict)
    """Versions that are rolled back and not yet tagged."""
    problem: str | None = None
    """Why the registry could not be asked the last time."""
    statistics: dict[Cohort, Statistics] = field(default_factory=dict)
    shadows: dict[Version, ShadowStatistics] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    looks: dict[Version, Looks] = field(default_factory=dict)

    def missing(self) -> list[Named]:
        """Returns the named versions that are neither loaded nor barred."""
        barred = self.barred()
        champion = self.wishes.champion
        known = self.usable | self.refused.keys()
        return [n for n in self.wishes.all() if n.number not in known and (n == champion or not barred.reason(n))]

    def barred(self) -> Barred:
        """Returns what may not be tried."""
        return Barred(self.refused, self.rolled_back)

    def refuse(self, number: int, reason: str) -> bool:
        """Bars a broken version; returns whether that is news."""
        if number in self.refused:
            return False
        self.refused[number] = reason
        self.usable.discard(number)
        self.counts["versions_refused"] += 1
        return True

    def decide(self) -> None:
        """Makes the plan anew."""
        usable = frozenset(self.usable)
        self.plan = next_plan(self.wishes, self.plan, usable, self.barred(), self.release.share)

    def add(self, growth: Growth) -> None:
        """Takes what a replica's sessions did."""
        for cohort, statistics in growth.statistics.items():
            self.statistics[cohort] = self.statistics.get(cohort, Statistics()) + statistics
        for version, dropped in growth.dropped.items():
            self.add_shadow(version, ShadowStatistics(dropped=dropped))

    def add_shadow(self, version: Version, growth: ShadowStatistics) -> None:
        """Takes what a shadow answered."""
        self.shadows[version] = self.shadows.get(version, ShadowStatistics()) + growth

    def judge(self) -> tuple[int, str] | None:
        """Rolls back what breaks its thresholds, and returns its number and the reason; None where nothing does."""
        tried = {version for version in (self.plan.challenger, self.plan.shadow) if version is not None}
        for version in sorted(tried):
            reason, self.looks[version] = judge(
                self._evidence(version), thresholds_of(self.release.roll_back), self.looks.get(version, {})
            )
            if reason is not None:
                self.rolled_back[version.number] = self.unmarked[version.number] = reason
                self.counts["rollbacks"] += 1
                return version.number, reason
        return None

    def measure(self, registry: Registry, model: str) -> None:
        """Takes down how the answers of shadows compare, by version.

        Args:
          registry: Where.
          model: Name of the model.
        """
        for version, shadow in self.shadows.items():
            labels = {"model": model, "version": str(version)}
            registry.series(names.SHADOW_COMPARED, **labels).rise_to(shadow.compared)
            registry.series(names.SHADOW_AGREED, **labels).rise_to(shadow.agreed)

    def keep_only(self, versions: set[Version]) -> None:
        """Forgets what others did: the statistics of versions that are played no more would grow for ever."""
        kept = {c: s for c, s in self.statistics.items() if c.version in versions and c.challenger in {*versions, None}}
        self.statistics = kept
        self.shadows = {version: s for version, s in self.shadows.items() if version in versions}
        self.looks = {version: looks for version, looks in self.looks.items() if version in versions}

    def standing(self) -> Standing:
        """Returns what replicas are told."""
        rolled_back = self._tagged() | self.rolled_back
        return Standing(
            self.plan,
            {str(played_as(number)): reason for number, reason in self.refused.items()},
            {str(played_as(number)): reason for number, reason in rolled_back.items()},
        )

    def as_dict(self) -> dict[str, Any]:
        """Returns what an operator is shown, as a JSON object."""
        return {
            **self.standing().as_dict(),
            "follow": self.release.follow,
            "problem": self.problem,
            "counts": dict(self.counts),
            "versions": {str(v): s.as_dict() for v, s in sorted(self._totals().items())},
            "shadows": {str(v): s.as_dict() for v, s in sorted(self.shadows.items())},
        }

    def _evidence(self, challenger: Version) -> Evidence:
        own = self.statistics.get(Cohort(challenger, challenger), Statistics())
        champion = self.statistics.get(Cohort(self.plan.champion, challenger), Statistics())
        return Evidence(own, champion, self.shadows.get(challenger, ShadowStatistics()))

    def _totals(self) -> dict[Version, Statistics]:
        totals: dict[Version, Statistics] = {}
        for cohort, statistics in self.statistics.items():
            totals[cohort.version] = totals.get(cohort.version, Statistics()) + statistics
        return totals

    def _tagged(self) -> dict[int, str]:
        named = [n for n in (self.wishes.challenger, self.wishes.shadow) if n is not None]
        return {n.number: n.rolled_back for n in named if n.rolled_back is not None}


def thresholds_of(roll_back: RollBack) -> Thresholds:
    """Returns the thresholds of a config."""
    return Thresholds(**roll_back.model_dump())
