"""Until when the answer to the step that is under way is wanted."""

from contextvars import ContextVar


class StepTime:
    """The time of one step; what the step began and left behind has no time of its own once it is over."""

    __slots__ = ("until_s",)

    def __init__(self, until_s: float) -> None:
        """Begins the time of the present task's step.

        Args:
          until_s: When nobody waits for the answer any more, on the event loop's clock.
        """
        self.until_s: float | None = until_s
        _PRESENT.set(self)

    def over(self) -> None:
        """Ends it."""
        self.until_s = None


_PRESENT: ContextVar[StepTime | None] = ContextVar("step_time", default=None)


def step_until_s() -> float | None:
    """Returns until when the present step's answer is wanted, on the event loop's clock; None outside of steps."""
    present = _PRESENT.get()
    return None if present is None else present.until_s
