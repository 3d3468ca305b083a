"""The rows to learn from of played sessions, as columns."""

from collections.abc import Sequence

from app.agents.game_log import Played
from app.agents.outbox import Outbox
from app.models.spec import ModelSpec
from app.types import Rows


def learned_rows(played: Sequence[Played], spec: ModelSpec) -> Rows | None:
    """Returns the trajectories of sessions, or of parts of them, one behind another; None where there is no row."""
    rows = [row for one in played for entry in one.entries for row in entry.rows]
    if not rows:
        return None
    outbox = Outbox(spec, len(rows) + 1, lambda: None)
    outbox.add(rows)
    return outbox.take()
