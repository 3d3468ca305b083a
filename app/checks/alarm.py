"""What a check tells of something wrong, and the newest of it by check and field."""

import math
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

ALARMS_MAX: Final = 256
"""Checks and fields of which alarms are kept: more than anybody reads; beyond, the one that was raised least recently
goes."""


@dataclass(frozen=True, slots=True)
class Alarm:
    """Something that is not as it should be, with its newest example."""

    check: str
    """Name of the check in the config, or of what is always looked after."""
    kind: str
    """``finite``, ``range``, ``drift``, ``stuck``, ``saturated``, or of what else."""
    action: str
    """What happened: ``warn``, ``drop`` or ``stop``."""
    model: str
    """Model whose games or training it is about; empty where it is about none."""
    source: str
    """Who noticed it: a replica, or a trainer."""
    field: str
    value: float
    allowed: str
    """What would have been right."""
    time_s: float
    """Unix seconds at which it was noticed last."""
    first_s: float
    """Unix seconds at which it was noticed first."""
    times: int = 1
    """Rows, updates or windows that were wrong, since then."""
    element: int | None = None
    """Number of the field that was wrong; None where it has but one."""
    session: str | None = None
    """Session in which it was; None where it was in none."""
    tick: int | None = None
    """Tick in which it was; None where it was in none."""
    update: int | None = None
    """Update of the trainer at which it was; None where it was at none."""
    record: bool = False
    """Whether the recorder was asked to keep the game."""
    details: Sequence[str] = ()
    """Further lines."""

    @property
    def key(self) -> tuple[str, str, str]:
        """Returns what alarms are counted together by."""
        return self.check, self.field, self.model

    def __str__(self) -> str:
        name = self.field if self.element is None else f"{self.field}[{self.element}]"
        places = [
            None if self.tick is None else f"tick {self.tick}",
            None if self.session is None else f"session {self.session}",
            None if self.update is None else f"update {self.update}",
        ]
        where = " of ".join(place for place in places if place)
        times = "" if self.times == 1 else f", {self.times} times"
        at = f" at {where}" if where else ""
        return f"check {self.check}: {name} is {self.value:g}{at}, allowed: {self.allowed}{times}"

    def as_dict(self) -> dict[str, Any]:
        """Returns the alarm as a JSON object; a value that is not finite is text."""
        value = self.value if math.isfinite(self.value) else str(self.value)
        return asdict(self) | {"value": value, "details": list(self.details), "message": str(self)}


class Alarms:
    """The alarms of one place or of several, by check, field and model."""

    def __init__(self) -> None:
        self.forgotten = 0
        """Alarms that made room for others."""
        self._kept: OrderedDict[tuple[str, str, str], Alarm] = OrderedDict()

    def add(self, alarms: Iterable[Alarm]) -> None:
        """Takes alarms; those of a check and field that is known already replace the example and add up."""
        for alarm in alarms:
            before = self._kept.pop(alarm.key, None)
            if before is not None:
                alarm = replace(  # noqa: PLW2901  # It is the same alarm.
                    alarm, times=before.times + alarm.times, first_s=min(before.first_s, alarm.first_s)
                )
            self._kept[alarm.key] = alarm
            if len(self._kept) > ALARMS_MAX:
                self._kept.popitem(last=False)
                self.forgotten += 1

    def newest(self) -> list[Alarm]:
        """Returns the alarms, the newest first."""
        return list(reversed(self._kept.values()))

    def take(self) -> list[Alarm]:
        """Returns the alarms, the oldest first, and keeps none of them."""
        kept, self._kept = self._kept, OrderedDict()
        return list(kept.values())
