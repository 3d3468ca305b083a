"""Names what a thread is doing at this moment."""

import sys
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from app.origin import ROOT

if TYPE_CHECKING:
    import asyncio

_LIBRARIES: Final = (f"{sys.prefix}/lib", f"{sys.base_prefix}/lib", "<frozen")
"""Where files begin whose code nobody here has written."""
_PLUMBING: Final = tuple(
    f"{ROOT}/{name}/" for name in ("deployments", "app/sessions", "app/agents/blocking", "app/stacks")
)
"""Our code that waits for others' and is seldom to blame."""


def running_in(thread_id: int | None) -> str:
    """Returns the function and line that a thread is in: the innermost of the user's code, and where that has led.

    Args:
      thread_id: ``threading.get_ident()`` of the thread; None names nothing.
    """
    frame = None if thread_id is None else sys._current_frames().get(thread_id)
    if frame is None:
        return "a thread that has ended"
    innermost = _place(frame)
    blamed = _blamed(frame)
    return innermost if blamed in (None, innermost) else f"{blamed}, at {innermost}"


def waiting_in(task: "asyncio.Task[Any]") -> str:
    """Returns the function and line in which a task waits: the innermost of the user's code, and where that has led."""
    frames: list[FrameType] = []
    awaited: object = task.get_coro()
    while (frame := getattr(awaited, "cr_frame", None)) is not None:
        frames.append(frame)
        awaited = getattr(awaited, "cr_await", None)
    if not frames:
        return "nothing"
    blamed = next((frame for frame in reversed(frames) if _is_blamed(frame)), frames[-1])
    innermost, place = _place(frames[-1]), _place(blamed)
    return place if place == innermost else f"{place}, at {innermost}"


def _blamed(frame: FrameType | None) -> str | None:
    """Returns the innermost place outside libraries and plumbing; None where there is none."""
    while frame is not None:
        if _is_blamed(frame):
            return _place(frame)
        frame = frame.f_back
    return None


def _is_blamed(frame: FrameType) -> bool:
    return not frame.f_code.co_filename.startswith((*_LIBRARIES, *_PLUMBING))


def _place(frame: FrameType) -> str:
    file = Path(frame.f_code.co_filename)
    return f"{frame.f_code.co_qualname} ({file.parent.name}/{file.name}:{frame.f_lineno})"
