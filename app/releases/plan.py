"""Which versions a service plays, and how a plan follows from what the registry names."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.releases.share import plays_challenger
from app.types import UNTRAINED, SessionId, Version


def played_as(registered: int) -> Version:
    """Returns the version under which a registered model version is played; generation 0 is nobody's training."""
    return Version(0, registered)


@dataclass(frozen=True, slots=True)
class Named:
    """A registered version that an alias or a number names."""

    number: int
    rolled_back: str | None = None
    """Its tag of that name; None where it has none."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the registry names for a service; None where it names nothing."""

    champion: Named | None = None
    challenger: Named | None = None
    shadow: Named | None = None

    def all(self) -> list[Named]:
        """Returns what is named, each version once."""
        named = [one for one in (self.champion, self.challenger, self.shadow) if one is not None]
        return list({one.number: one for one in named}.values())


@dataclass(frozen=True, slots=True)
class Plan:
    """What every replica does with sessions that begin."""

    champion: Version = UNTRAINED
    challenger: Version | None = None
    share: float = 0.0
    """Part of new sessions that play the challenger."""
    shadow: Version | None = None
    """Version that answers beside, unheard."""

    def version_for(self, session: SessionId) -> Version:
        """Returns what a session plays that begins now."""
        if self.challenger is not None and plays_challenger(session, self.challenger, self.share):
            return self.challenger
        return self.champion

    def versions(self) -> set[Version]:
        """Returns what sessions that begin may play."""
        return {self.champion} if self.challenger is None else {self.champion, self.challenger}

    def as_dict(self) -> dict[str, Any]:
        """Returns the plan as a JSON object."""
        return {
            "champion": str(self.champion),
            "challenger": None if self.challenger is None else str(self.challenger),
            "share": self.share,
            "shadow": None if self.shadow is None else str(self.shadow),
        }


@dataclass(frozen=True, slots=True)
class Standing:
    """What replicas are told: the plan, and what is not played, with the reason, by version."""

    plan: Plan = field(default_factory=Plan)
    refused: Mapping[str, str] = field(default_factory=dict)
    rolled_back: Mapping[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Returns the standing as a JSON object."""
        return {**self.plan.as_dict(), "refused": dict(self.refused), "rolled_back": dict(self.rolled_back)}


@dataclass(frozen=True, slots=True)
class Barred:
    """Versions that are not played, with the reason."""

    refused: Mapping[int, str] = field(default_factory=dict)
    """They are broken."""
    rolled_back: Mapping[int, str] = field(default_factory=dict)
    """They played badly."""

    def reason(self, named: Named) -> str | None:
        """Returns why a version may not be tried; None where it may."""
        return self.refused.get(named.number) or self.rolled_back.get(named.number) or named.rolled_back


def next_plan(wishes: Wishes, present: Plan, usable: frozenset[int], barred: Barred, share: float) -> Plan:
    """Returns the plan that follows from what the registry names.

    A champion that is missing, not loaded yet or refused leaves the present one in place. A champion that was rolled
    back as a challenger is played all the same: whoever moved the alias there knew.

    Args:
      wishes: What is named now.
      present: The plan so far.
      usable: Versions that are loaded and were found good.
      barred: What may not be tried.
      share: Part of new sessions for a challenger.
    """
    champion = present.champion
    if wishes.champion is not None and wishes.champion.number in usable - barred.refused.keys():
        champion = played_as(wishes.champion.number)
    challenger = _tried(wishes.challenger, champion, usable, barred)
    shadow = _tried(wishes.shadow, champion, usable, barred)
    return Plan(champion, challenger, 0.0 if challenger is None else share, shadow)


def _tried(named: Named | None, champion: Version, usable: frozenset[int], barred: Barred) -> Version | None:
    """Returns a version beside the champion; None where there is none that may be tried."""
    if named is None or named.number not in usable or barred.reason(named) is not None:
        return None
    version = played_as(named.number)
    return None if version == champion else version
