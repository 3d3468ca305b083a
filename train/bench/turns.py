"""What a tick costs of agents of one replica that do a little more than others, next to those, in turns."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain, cycle, islice
from statistics import fmean

from train.bench.cells import WINDOWS_MIN, told
from train.bench.generator import Load, Window
from train.bench.statistics import figure


def in_turns(
    run: Callable[[Load], Window], load: Load, agents: Sequence[str], windows: int, wanted: float
) -> dict[str, object]:
    """Returns throughput and CPU of each agent of one replica, and their shares of those of the first two.

    The share of the second one, of the first, tells what this machine can tell apart. All play in one replica: two
    replicas of the same thing differ by some percent of CPU time.

    Args:
      run: Runs a load, with session ids of its own.
      load: Of a window.
      agents: Who plays; the first two are the same and do no more than they must.
      windows: Of each, by turns, in orders in which each follows each other one as often.
      wanted: Least throughput of the others, as a share of that of the first two.

    Raises:
      SparringError: The load generator fails.
    """
    found: dict[str, list[Window]] = {name: [] for name in agents}
    for order in islice(cycle(balanced_orders(agents)), windows):
        for name in order:
            found[name].append(run(replace(load, suffix=f"-agent-{name}")))
    plain, control = (found[name] for name in agents[:2])
    shares = {agents[1]: told_shares(wanted, control, plain)}
    shares |= {name: told_shares(wanted, found[name], plain, control) for name in agents[2:]}
    errors = sum(window.errors for all_of_one in found.values() for window in all_of_one)
    return {name: told(each) for name, each in found.items()} | {"shares": shares, "errors": errors}


def balanced_orders(names: Sequence[str]) -> list[list[str]]:
    """Returns orders in which each name stands at each place, and behind each other name, equally often.

    What runs behind itself finds its memory in the caches; no name is to have that more often than another.
    E. J. Williams, "Experimental Designs Balanced for the Estimation of Residual Effects of Treatments", 1949.
    """
    count = len(names)
    zigzag = [place // 2 + 1 if place % 2 else count - place // 2 for place in range(count)]
    rows = [[names[(place + row) % count] for place in zigzag] for row in range(count)]
    return rows + [row[::-1] for row in rows]


def told_shares(wanted: float, on: Sequence[Window], *off: Sequence[Window]) -> dict[str, object]:
    """Returns what windows of one agent are to those of others, each beside the mean of those of its turn."""
    if not all(window.ticks for window in chain(on, *off)):
        return {"measured": False}
    turns = list(zip(on, zip(*off, strict=True), strict=True))
    rates = figure([one.ticks_per_s / fmean(other.ticks_per_s for other in others) for one, others in turns])
    cpu = figure([fmean(other.cpu_us for other in others) / one.cpu_us for one, others in turns])
    enough = len(on) >= WINDOWS_MIN and rates.measured
    return {
        "throughput_share": rates.as_dict(),
        "cpu_share": cpu.as_dict(),
        "wanted": wanted,
        "reached": enough and rates.median >= wanted,
    }
