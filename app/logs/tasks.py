"""Tells of tasks that were to run for as long as their process."""

import logging
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")

_log = logging.getLogger(__name__)


def told(task: "asyncio.Task[T]") -> "asyncio.Task[T]":
    """Returns the task; should it fail, an error is logged with its traceback, whoever awaits it later."""
    task.add_done_callback(_tell)
    return task


def _tell(task: "asyncio.Task[T]") -> None:
    error = None if task.cancelled() else task.exception()
    if error is not None:
        name = getattr(task.get_coro(), "__qualname__", task.get_name())
        _log.error("%s ended, which was to run on: %s", name, error, exc_info=error)
