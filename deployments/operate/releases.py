"""Releases as text."""

from collections.abc import Iterator, Mapping
from typing import Any


def summary_lines(model: str, release: Mapping[str, Any]) -> Iterator[str]:
    """Returns what a model plays, in a line, and below it what it does not play, or cannot find out."""
    parts = [f"release {model}", f"champion {release['champion']}"]
    if release["challenger"] is not None:
        parts.append(f"challenger {release['challenger']} plays {release['share']:.1%}")
    if release["shadow"] is not None:
        parts.append(f"shadow {release['shadow']}")
    yield "  ".join(parts)
    for word, barred in (("refused", release["refused"]), ("rolled back", release["rolled_back"])):
        for version, reason in barred.items():
            yield f"  {word} {version}: {reason}"
    if release["problem"] is not None:
        yield f"  the registry: {release['problem']}"


def detail_lines(model: str, release: Mapping[str, Any]) -> Iterator[str]:
    """Returns the same with what each version did."""
    yield from summary_lines(model, release)
    for version, done in release["versions"].items():
        mean = "none" if done["mean_return"] is None else f"{done['mean_return']:.6g}"
        yield (
            f"  {version}  {done['starts']} sessions  {done['games']} games  mean return {mean}  {done['ticks']} ticks"
            f"  {done['errors']} errors  {done['deadline_misses']} deadlines missed"
        )
    for version, done in release["shadows"].items():
        agreement = "unknown" if done["agreement"] is None else f"{done['agreement']:.1%}"
        yield (
            f"  {version} as shadow  agreement {agreement} of {done['compared']}  {done['failed']} failed"
            f"  {done['dropped']} dropped"
        )
