"""Stops trials: their Serve applications drain and end, then their stores."""

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from ray import serve
from ray.exceptions import RayError
from ray.serve.exceptions import RayServeException

from app.errors import SparringError
from app.stores.host import close_hosts
from deployments.operate.finding import serve_applications, serve_status, status_of, store_namespaces
from deployments.operate.trials import Application, TrialStatus

LOOK_S: Final = 0.2
"""Seconds between two looks at what is still there."""


class StopError(SparringError):
    """Something did not end in time."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """What was ended of one trial."""

    trial: str
    applications: Sequence[str]
    sessions: int
    """Sessions that were open before."""

    def as_dict(self) -> dict[str, Any]:
        """Returns it as a JSON object."""
        return asdict(self)


def stop(namespace: str, timeout_s: float) -> Stopped:
    """Ends a trial and returns what was ended of it.

    Its replicas drain first, so that open games end in order; then the stores go, and with them what was not trained
    on. Only Serve applications that belong to the trial are touched.

    Raises:
      StopError: Something is still there after ``timeout_s``; a second try goes on from there.
    """
    end_s = time.monotonic() + timeout_s
    every = serve_applications()
    found = status_of(namespace, every)
    _refuse_to_guess(found, every)
    names = [application.name for application in found.applications]
    for name in names:
        _delete(name)
    _wait(end_s, timeout_s, lambda: not any(map(serve_status, names)), f"application {', '.join(names)}")
    _wait(end_s, timeout_s, lambda: _hosts_are_gone(namespace), f"the store process of {namespace}")
    return Stopped(found.name, names, found.sessions)


def _refuse_to_guess(found: TrialStatus, every: Sequence[Application]) -> None:
    """Raises where an application may be the trial's although nothing tells: without its stores it would play on."""
    unknown = [application.name for application in every if application.namespace is None]
    if found.problem and not found.applications and unknown:
        raise StopError(
            f"{found.problem}, and so it is not known whether {', '.join(unknown)} belongs to {found.name}; try again, "
            "or delete the application in Serve first"
        )


def _hosts_are_gone(namespace: str) -> bool:
    """Ends the store processes that still live and returns whether none did."""
    if namespace not in store_namespaces():
        return True
    with contextlib.suppress(ValueError):  # One has ended in the meantime.
        close_hosts(namespace)
    return False


def _delete(name: str) -> None:
    try:
        serve.delete(name, _blocking=False)
    except (RayError, RayServeException) as error:
        raise StopError(f"Serve cannot delete application {name}: {error}") from error


def _wait(end_s: float, timeout_s: float, done: Callable[[], bool], what: str) -> None:
    while not done():
        if time.monotonic() > end_s:
            raise StopError(f"{what} still runs after {timeout_s:g} s; try again, or with a longer --timeout-s")
        time.sleep(LOOK_S)
