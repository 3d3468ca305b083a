"""Waiting times of one server; what the simulation is checked against, and what a plan reckons with."""

import math

from app.errors import PlanError


def utilisation(rate_per_s: float, busy_s: float, idle_s: float) -> float:
    """Returns the share of time that a server works whose first customer of a busy period takes another time.

    A process that sleeps is woken for its next tick; one that is busy finds the next with the same look at its
    sockets. So a tick costs ``idle_s`` where it finds nobody, and ``busy_s`` where others wait or are served.
    Welch (1964), "On a generalized M/G/1 queuing process in which the first customer of each busy period receives
    exceptional service".

    Args:
      rate_per_s: Arrivals a second, Poisson.
      busy_s: Mean service of who finds the server busy, in seconds.
      idle_s: Mean service of who finds it idle, in seconds.

    Raises:
      PlanError: More arrives than can be served.
    """
    spare = 1 - rate_per_s * busy_s
    if spare <= 0:
        raise PlanError(f"{rate_per_s:g} arrivals a second of {1e6 * busy_s:g} µs are more than one server can take")
    return rate_per_s * idle_s / (spare + rate_per_s * idle_s)


def mean_service_s(share: float, busy_s: float, idle_s: float) -> float:
    """Returns the mean service in seconds where the server is busy for a share of the time."""
    return share * busy_s + (1 - share) * idle_s


def rate_at(share: float, busy_s: float, idle_s: float) -> float:
    """Returns the arrivals a second that keep the server busy for a share of the time, in (0, 1]."""
    return share / mean_service_s(share, busy_s, idle_s)


def mean_wait_s(rate_per_s: float, busy_s: float, idle_s: float, variation: float = 0.0) -> float:
    """Returns the mean time in the queue before service, in seconds.

    Args:
      rate_per_s: Arrivals a second, Poisson.
      busy_s: Mean service of who finds the server busy, in seconds.
      idle_s: Mean service of who finds it idle, in seconds.
      variation: Squared coefficient of variation of both: 0 is fixed (M/D/1), 1 exponential (M/M/1).

    Raises:
      PlanError: More arrives than can be served.
    """
    utilisation(rate_per_s, busy_s, idle_s)
    busy_square, idle_square = ((1 + variation) * mean**2 for mean in (busy_s, idle_s))
    spare = 1 - rate_per_s * busy_s
    return rate_per_s * busy_square / (2 * spare) + rate_per_s * (idle_square - busy_square) / (
        2 * (spare + rate_per_s * idle_s)
    )


def wait_quantile_s(quantile: float, share: float, mean_s: float) -> float:
    """Returns the wait that a share of customers does not exceed, in seconds, as if waits had an exponential tail.

    It is exact for M/M/1, and a little high for M/D/1.

    Args:
      quantile: In (0, 1).
      share: Of the time that the server is busy.
      mean_s: Mean wait in seconds.
    """
    waiting = share / (1 - quantile)
    return 0.0 if waiting <= 1 or share <= 0 else mean_s / share * math.log(waiting)
