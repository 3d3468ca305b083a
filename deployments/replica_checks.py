"""The checks of one actor replica: of the rows that leave it, and of the age of the weights that it plays."""

import asyncio
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final

from app.checks.alarm import Alarm
from app.checks.references import referred_row_checks
from app.checks.row_gate import Place, RowGate
from app.config.root import ExperimentConfig
from app.models.spec import ModelSpec
from app.types import Rows, SessionId
from deployments.alarm_sender import AlarmSender

EPISODES_REMEMBERED: Final = 10_000
"""Newest episodes whose sessions alarms can name: more than wait to be sent."""
LOOK_S: Final = 1.0
"""Seconds between two looks at the age of weights."""
WEIGHTS_AGE: Final = "weights_age_s"
"""Name of the alarm of weights that nobody renews."""


def nowhere(session: SessionId, why: str) -> None:
    """Records nothing."""


class ReplicaChecks:
    """Makes the gates of a replica, and knows which session an episode was."""

    def __init__(
        self,
        config: ExperimentConfig,
        replica: str,
        sender: AlarmSender,
        counts: Counter[str],
        record: Callable[[SessionId, str], object] = nowhere,
    ) -> None:
        """Keeps the config.

        Args:
          config: With the components of its mode.
          replica: Name of the replica.
          sender: Takes alarms.
          counts: The replica's.
          record: Asks the recorder to keep an open session, for a reason.
        """
        self._config, self._replica, self._sender, self._counts = config, replica, sender, counts
        self._record = record
        self._sessions: OrderedDict[int, SessionId] = OrderedDict()

    def begun(self, episode: int, session: SessionId) -> None:
        """Notes whose rows those of an episode are."""
        self._sessions[episode] = session
        if len(self._sessions) > EPISODES_REMEMBERED:
            self._sessions.popitem(last=False)

    def gate(self, model: str, spec: ModelSpec) -> RowGate:
        """Returns new checks of a model's rows.

        Raises:
          ConfigError: A check names a field that the rows do not have.
          SourceError: A reference cannot be read.
        """
        place = Place(model, f"replica {self._replica}", self._sessions.get)
        return RowGate(referred_row_checks(self._config, model, spec), place, self._counts, self._told)

    def recorded(self, model: str, spec: ModelSpec) -> Callable[[Rows], None]:
        """Returns what looks at recorded rows of a model, which nobody learns from now; it may run in any one thread.

        Raises:
          ConfigError: A check names a field that the rows do not have.
          SourceError: A reference cannot be read.
        """
        place = Place(model, f"replica {self._replica}", self._sessions.get)
        checks = referred_row_checks(self._config, model, spec)
        return RowGate(checks, place, self._counts, self._sender.tell).look

    def work(self, ages: Callable[[], Mapping[str, float | None]]) -> list[Coroutine[Any, Any, None]]:
        """Returns what must run for as long as the replica lives.

        Args:
          ages: Returns the seconds since the newest weights of each model came; None before the first.
        """
        limit_s = self._config.checks.weights_age_s
        watching = [] if limit_s is None else [self._watch(ages, limit_s)]
        return [self._sender.run(), *watching]

    def _told(self, alarm: Alarm) -> None:
        self._sender.tell(alarm)
        if alarm.record and alarm.session is not None:
            self._record(alarm.session, str(alarm))

    async def _watch(self, ages: Callable[[], Mapping[str, float | None]], limit_s: float) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            for alarm in age_alarms(ages(), limit_s, f"replica {self._replica}", time.time()):
                self._sender.tell(alarm)


def age_alarms(ages: Mapping[str, float | None], limit_s: float, source: str, now_s: float) -> list[Alarm]:
    """Returns the alarms of weights that are older than they may be."""
    return [
        Alarm(
            check=WEIGHTS_AGE,
            kind="age",
            action="warn",
            model=model,
            source=source,
            field=f"weights of {model}",
            value=round(age_s, 1),
            allowed=f"an age of at most {limit_s:g} s",
            time_s=now_s,
            first_s=now_s,
        )
        for model, age_s in ages.items()
        if age_s is not None and age_s > limit_s
    ]
