"""Decides whether a challenger is rolled back.

Looking at growing counts again and again finds a difference sooner or later even where there is none. So each criterion
is looked at only when its samples have doubled, and the ``k``-th look may err with the chance ``alpha / 2^(k+1)``: all
looks together err with at most ``alpha``, however long the challenger plays (a union bound, as in group sequential
tests). The criteria share the allowed chance evenly.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from app.releases.intervals import difference_bounds, mean_bounds, quantile, wilson
from app.releases.statistics import ShadowStatistics, Statistics

LOOKS_MAX: Final = 40
"""Looks at one criterion; the samples of the last would be 10^12 times those of the first."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """What a challenger must keep to; None does not ask."""

    max_error_rate: float | None = None
    """Errors and missed deadlines, as a share of its ticks; as a shadow: failures, as a share of what it was asked."""
    min_agreement: float | None = None
    """Share of the shadow's actions that are the champion's."""
    min_mean_return: float | None = None
    max_return_loss: float | None = None
    """Most by which its mean return may lie below the champion's of the same time."""
    min_ticks: int = 1000
    """Ticks of the first look at rates."""
    min_games: int = 50
    """Games of the first look at returns, at least 2."""
    mistake_chance: float = 0.01
    """Largest chance that a challenger is rolled back although it keeps to all thresholds."""


class Evidence(NamedTuple):
    """What is known of a challenger, since it was named."""

    challenger: Statistics
    champion: Statistics
    """Of the same time."""
    shadow: ShadowStatistics


@dataclass(frozen=True, slots=True)
class _Criterion:
    name: str
    samples: int
    first: int
    """Samples of the first look."""
    broken: Callable[[float], str | None]
    """Returns the reason where the bounds of so many standard errors lie wholly on the wrong side."""


Looks = Mapping[str, int]
"""Number of the last look at each criterion, from 0."""


def judge(evidence: Evidence, thresholds: Thresholds, looks: Looks) -> tuple[str | None, Looks]:
    """Returns why the challenger is rolled back, None where it is not, and the looks that were taken with this one."""
    criteria = _criteria(evidence, thresholds)
    taken = dict(looks)
    for criterion in criteria:
        look = look_of(criterion.samples, criterion.first)
        if look is None or look <= taken.get(criterion.name, -1):
            continue
        taken[criterion.name] = look
        chance = thresholds.mistake_chance / len(criteria) / 2 ** (look + 1)
        reason = criterion.broken(quantile(chance))
        if reason is not None:
            return reason, taken
    return None, taken


def look_of(samples: int, first: int) -> int | None:
    """Returns the number of the look that so many samples allow; None before the first."""
    return None if samples < first else min((samples // first).bit_length() - 1, LOOKS_MAX)


def _criteria(evidence: Evidence, thresholds: Thresholds) -> list[_Criterion]:
    own, shadow, t = evidence.challenger, evidence.shadow, thresholds
    found: list[_Criterion] = []
    if (most := t.max_error_rate) is not None:
        missed = min(own.errors + own.deadline_misses, own.ticks)
        found.append(_at_most("error rate", missed, own.ticks, most, t.min_ticks))
        found.append(_at_most("shadow error rate", shadow.failed, shadow.asked, most, t.min_ticks))
    if (least := t.min_agreement) is not None:
        found.append(_at_least("agreement", shadow.agreed, shadow.compared, least, t.min_ticks))
    if t.min_mean_return is not None:
        found.append(_mean_return(own, t.min_mean_return, t.min_games))
    if t.max_return_loss is not None:
        found.append(_return_loss(own, evidence.champion, t.max_return_loss, t.min_games))
    return found


def _at_most(name: str, happened: int, trials: int, most: float, first: int) -> _Criterion:
    def broken(z: float) -> str | None:
        low = wilson(happened, trials, z).low
        return f"{name} {happened} of {trials} is above {most:g}: at least {low:.4g}" if low > most else None

    return _Criterion(name, trials, first, broken)


def _at_least(name: str, happened: int, trials: int, least: float, first: int) -> _Criterion:
    def broken(z: float) -> str | None:
        high = wilson(happened, trials, z).high
        return f"{name} {happened} of {trials} is below {least:g}: at most {high:.4g}" if high < least else None

    return _Criterion(name, trials, first, broken)


def _mean_return(own: Statistics, least: float, first: int) -> _Criterion:
    def broken(z: float) -> str | None:
        mean, variance, count = own.return_moments
        high = mean_bounds(mean, variance, count, z).high
        if high >= least:
            return None
        return f"mean return {mean:.4g} of {count} games is below {least:g}: at most {high:.4g}"

    return _Criterion("mean return", own.games, first, broken)


def _return_loss(own: Statistics, champion: Statistics, most: float, first: int) -> _Criterion:
    def broken(z: float) -> str | None:
        high = difference_bounds(own.return_moments, champion.return_moments, z).high
        if high >= -most:
            return None
        return (
            f"mean return {own.return_moments[0]:.4g} of {own.games} games is more than {most:g} below the champion's "
            f"{champion.return_moments[0]:.4g} of {champion.games}: by at least {-high:.4g}"
        )

    return _Criterion("return loss", min(own.games, champion.games), first, broken)
