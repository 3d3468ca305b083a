"""A plan for people, as a table, and for programs, as one JSON line."""

from collections.abc import Iterator
from dataclasses import asdict

from rich.table import Table

from app.capacity.plan import Plan
from app.capacity.simulation.check import Checked

_DIGITS = 4
"""Significant digits of a figure."""


def table_of(plan: Plan, checked: Checked | None) -> Table:
    """Returns the table of a plan, with what the simulation found beside it."""
    table = Table("", title=f"{plan.sized.nodes} × {plan.machine.name}, limited by {plan.sized.limit}")
    table.add_column("plan", justify="right")
    table.add_column("simulated", justify="right")
    for name, planned, simulated in _rows(plan, checked):
        table.add_row(name, planned, simulated)
    return table


def as_dict(plan: Plan, checked: Checked | None) -> dict[str, object]:
    """Returns a plan for the JSON line."""
    sized = plan.sized
    return {
        "plan": {
            "games": plan.workload.games,
            "tick_hz": plan.workload.tick_hz,
            "ticks_per_s": plan.workload.ticks_per_s,
            "machine": plan.machine.name,
            "nodes": sized.nodes,
            "limit": sized.limit,
            "actor_replicas": sized.replicas,
            "processes": {demand.name: demand.processes for demand in sized.demands},
            "cores": _rounded(sum(demand.cores for demand in sized.demands)),
            "gpus": sum(demand.gpus for demand in sized.demands),
            "memory_gb": _rounded(sum(demand.memory_gb for demand in sized.demands)),
            "nodes_needed": {name: _rounded(value) for name, value in sized.needed.items()},
            "node_gbit_s": _rounded(plan.node_gbit_s),
            "price_per_hour": round(plan.price_per_hour, 2),
            "price_per_month": round(plan.price_per_month, 2),
            "price_per_million_ticks": _rounded(plan.price_per_million_ticks),
            "currency": plan.machine.currency,
            "queue": _all_rounded(asdict(plan.queue)),
            "after_loss": _all_rounded(asdict(plan.after_loss)),
            "flow": None if plan.flow is None else _all_rounded(asdict(plan.flow)),
        },
        "simulation": None if checked is None else _all_rounded(asdict(checked)),
        "assumed": list(plan.costs.notes),
        "problems": [*plan.problems, *(checked.problems if checked else ())],
    }


def _rows(plan: Plan, checked: Checked | None) -> Iterator[tuple[str, str, str]]:
    workload, sized = plan.workload, plan.sized
    yield "ticks a second", f"{workload.ticks_per_s:,.0f}", ""
    for demand in sized.demands:
        where = f"{demand.gpus} GPUs" if demand.gpus else f"{demand.cores:.4g} cores"
        yield demand.name, f"{demand.processes} on {where}, {demand.memory_gb:.3g} GiB", ""
    yield "network of a node", f"{plan.node_gbit_s:.3g} Gbit/s", ""
    yield from _queues(plan, checked)
    yield from _learning(plan, checked)
    price = f"{plan.price_per_hour:,.2f} an hour, {plan.price_per_month:,.0f} a month"
    yield f"price in {plan.machine.currency}", price, f"{plan.price_per_million_ticks:.3g} a million ticks"


def _queues(plan: Plan, checked: Checked | None) -> Iterator[tuple[str, str, str]]:
    run = None if checked is None else checked.ticks
    phases = [("", plan.queue, run and run.before)]
    if plan.margins.lost_nodes:
        phases.append((f", {plan.margins.lost_nodes} lost", plan.after_loss, run and run.after))
    for name, planned, found in phases:
        yield f"utilisation{name}", f"{planned.utilisation:.0%}", f"{found.utilisation:.0%}" if found else ""
        yield f"CPU of a tick{name}", f"{planned.tick_us:.3g} µs", f"{found.tick_us:.3g} µs" if found else ""
        yield f"ticks that wait{name}", f"{planned.waiting:.2g}", f"{found.waiting:.2g}" if found else ""
        yield f"99 % answered{name}", f"{planned.p99_ms:.3g} ms", f"{found.p99_ms:.3g} ms" if found else ""
    if run is not None and run.recovering is not None:
        taken = run.recovering
        yield "games taken up within", "", f"{run.recovering_s:.3g} s"
        yield "99 % answered meanwhile", "", f"{taken.p99_ms:.3g} ms, {taken.late_share:.1%} late"


def _learning(plan: Plan, checked: Checked | None) -> Iterator[tuple[str, str, str]]:
    flow, seen = plan.flow, checked.flow if checked else None
    if flow is None:
        return
    yield "updates a second", f"{flow.updates_per_s:.3g}", f"{seen.updates_per_s:.3g}" if seen else ""
    yield "age of rows", f"{flow.row_age_s:.3g} s", f"{seen.row_age_s:.3g} s" if seen else ""
    yield "policy lag", f"{flow.lag:.3g} versions", f"{seen.lag_mean:.3g}, at most {seen.lag_max:.3g}" if seen else ""
    if seen is not None:
        yield "rows dropped, too old", "", f"{seen.dropped_share:.1%}, {seen.stale_share:.1%}"
        yield "rows lost with nodes", "", f"{seen.lost_rows:,.0f}"


def _all_rounded(found: object) -> object:
    if isinstance(found, dict):
        return {key: _all_rounded(value) for key, value in found.items()}
    if isinstance(found, (list, tuple)):
        return [_all_rounded(value) for value in found]
    return _rounded(found) if isinstance(found, float) else found


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
