"""The alarms of a trial: what checks anywhere in it have found, the newest of each check and field."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from app.checks.alarm import Alarm, Alarms
from app.stores.host import StoreHandle

if TYPE_CHECKING:
    import ray


class Told(NamedTuple):
    """The alarms at one moment."""

    alarms: Sequence[Alarm]
    """The newest first."""
    forgotten: int
    """Checks and fields whose alarms have made room for others."""


class AlarmStore:
    """Keeps alarms, and those that end training apart."""

    def __init__(self) -> None:
        self._alarms = Alarms()
        self._stopping: dict[str, Alarm] = {}
        """The newest alarm that is to stop training, by model."""

    async def start(self) -> None:
        """Does nothing: this store only answers."""

    async def report(self, alarms: Sequence[Alarm]) -> None:
        """Takes alarms."""
        self._alarms.add(alarms)
        self._stopping |= {alarm.model: alarm for alarm in alarms if alarm.action == "stop"}

    async def told(self) -> Told:
        """Returns all alarms."""
        return Told(self._alarms.newest(), self._alarms.forgotten)

    async def stopping(self, model: str, since_s: float) -> Alarm | None:
        """Returns the alarm that is to stop the training of a model since a time; None where there is none."""
        alarm = self._stopping.get(model)
        return None if alarm is None or alarm.time_s < since_s else alarm


class AlarmClient:
    """What replicas, trainers and operators ask of the alarm store."""

    def __init__(self, handle: StoreHandle) -> None:
        self._handle = handle

    def report(self, alarms: Sequence[Alarm]) -> "ray.ObjectRef[Any]":
        """Sends alarms."""
        return self._handle.call("report", list(alarms))

    def report_now(self, alarms: Sequence[Alarm], timeout_s: float = 10.0) -> None:
        """Sends alarms and waits until they have come; for code without an event loop.

        Raises:
          ray.exceptions.RayError: The store does not answer in time.
        """
        self._handle.get("report", list(alarms), timeout_s=timeout_s)

    async def told(self) -> Told:
        """Returns all alarms."""
        return cast("Told", await self._handle.call("told"))

    def told_now(self, timeout_s: float = 10.0) -> Told:
        """Returns all alarms; for code without an event loop.

        Raises:
          ray.exceptions.RayError: The store does not answer in time.
        """
        return cast("Told", self._handle.get("told", timeout_s=timeout_s))

    def stopping(self, model: str, since_s: float) -> Alarm | None:
        """Returns the alarm that is to stop the training of a model since a time; None where there is none."""
        return cast("Alarm | None", self._handle.get("stopping", model, since_s))
