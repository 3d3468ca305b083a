"""How many replicas the open games need, as Serve's autoscaling policy.

Serve pickles the policy into its controller, where the rest of the product may not be importable: nothing of it is
used here. Bounds and delays are Serve's own.
"""

import math
from collections.abc import Collection, Mapping
from typing import Final

from ray.serve.config import AutoscalingContext

GAMES: Final = "games"
"""Key of a replica's open games in what it reports to the controller."""
BUSY: Final = "busy"
"""Key of the share of the time for which its event loop computed."""
SLACK: Final = 0.8
"""A replica is given up where the others then stand at no more than this share of their target: no to and fro."""


class LiveGames:
    """Wants as many replicas as hold the open games at their target."""

    def __init__(self, target_games: float, target_busy: float | None) -> None:
        """Makes the policy.

        Args:
          target_games: Open games of one replica.
          target_busy: Share of the time that its loop computes; None looks at games alone.
        """
        self._targets = {GAMES: target_games} | ({} if target_busy is None else {BUSY: target_busy})

    def __call__(self, context: AutoscalingContext) -> tuple[int, dict[str, object]]:
        """Returns the replicas wanted, and no state of its own."""
        found = context.raw_metrics or {}
        newest = {
            name: [series[-1].value for series in found.get(name, {}).values() if series] for name in self._targets
        }
        wanted = replicas_for(newest, self._targets, context.target_num_replicas)
        if len(newest[GAMES]) < len(context.running_replicas):  # Who is silent may hold games.
            wanted = max(wanted, context.target_num_replicas)
        return wanted, {}


def replicas_for(loads: Mapping[str, Collection[float]], targets: Mapping[str, float], current: int) -> int:
    """Returns how many replicas hold a load at its target, at least 1.

    Args:
      loads: Amounts of each replica that has reported, by kind of load.
      targets: Amount of one replica, by kind of load; the kind that wants most decides.
      current: Replicas that are wanted at present.
    """
    totals = {name: sum(loads[name]) for name in targets}

    def needed(share: float) -> int:
        return max(1, *(math.ceil(totals[name] / (target * share)) for name, target in targets.items()))

    return max(needed(1.0), min(current, needed(SLACK)))
