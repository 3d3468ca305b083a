"""What ``sparring plan`` reads, written by the benchmarks' own functions."""

from typing import Any

from train.bench.buffer import Window as StreamWindow
from train.bench.buffer import told_cost, told_rows
from train.bench.buffer_actors import Counted
from train.bench.buffer_cases import ATARI, CARTPOLE, Case
from train.bench.cells import Cell, told, told_with_limit
from train.bench.generator import Mode, Window
from train.bench.learner import told_rates
from train.bench.learner_worker import LIMIT
from train.bench.publish import told_publishes
from train.bench.published import Moments
from train.bench.statistics import figure

MACHINE = {"machine": "8 cores"}


def window(cpu_us: float) -> Window:
    return Window(10_000, 1.0, 0.1, 0.2, 0.3, 1.0, 0, "", 0.1, (cpu_us * 1e-2,))


def cell(connections: int, body_bytes: int, cpu_us: float) -> dict[str, object]:
    return told_with_limit(Cell(Mode.HTTP, connections, body_bytes), 5 * [window(cpu_us)], 5 * [window(20)])


def ticks() -> dict[str, object]:
    """A tick takes 50 µs in a busy replica and 70 in an idle one, 4096 bytes 40 more; forwarded 30 more."""
    cells = [cell(1, 64, 70), cell(32, 64, 50), cell(1, 4096, 110), cell(32, 4096, 90)]
    cartpole = [{"transport": "http", "connections": n, "sessions": n, **told(5 * [window(us)])}
                for n, us in ((8, 100.0), (32, 90.0))]  # fmt: skip
    both = {"direct": told(5 * [window(60)]), "forwarded": told(5 * [window(90)])}
    memory = {"kib_per_idle_session": 8.0}
    return {"bench": "ticks", **MACHINE, "cells": cells, "cartpole": cartpole, "forwarded": both, "memory": memory}


def inference() -> dict[str, object]:
    """A call of the small network takes 62 µs and 2 a row, a decision 10 more around it; a remote one 20 µs in all."""
    one, many = figure([64.0]).as_dict(), figure([62 / 32 + 2]).as_dict()
    mlp = {"cpu_us": figure([62 / 32 + 12]).as_dict(), "limit_engine_cpu_us": many}
    direct = {"observations_per_s": figure([50_000.0]).as_dict(), "caller_cpu_us": figure([15.0]).as_dict()}
    return {
        "bench": "inference", **MACHINE,
        "local_mlp": {**mlp, "limit_engine_one_by_one_cpu_us": one},
        "remote_mlp": {"direct": direct},
    }  # fmt: skip


def learner(size_mb: float = 1.0) -> dict[str, object]:
    """One worker learns from 100,000 samples a second, two from 160,000."""
    rates = [told_rates(n, {LIMIT: [2e5], "ddp": [rate]}) for n, rate in ((1, 1e5), (2, 1.6e5))]
    return {"bench": "learner", **MACHINE, "mb": size_mb, "workers": rates}


def streamed(case: Case, rows_per_s: float, cpu_us: float) -> dict[str, object]:
    windows = 5 * [StreamWindow(Counted(int(rows_per_s), 1.0, [], []), cpu_us * rows_per_s * 1e-6)]
    return told_rows(case, windows, windows)


def buffer() -> dict[str, object]:
    """A small row takes 5 µs in all, 2 of them the push."""
    rows = [streamed(CARTPOLE, 400_000, 5), streamed(ATARI, 10_000, 60)]
    return {"bench": "buffer", **MACHINE, "rows": rows, "push": told_cost([2.0], 20.0, "cpu_us_per_row")}


def publish() -> dict[str, object]:
    """Weights of 1 MiB answer after 20 ms, of 100 MiB after 120."""
    sizes = [told_publishes(mb, 5 * [Moments(0, 0.01, ms / 1e3)], 5 * [Moments(0, 0.01, 0.02)])
             for mb, ms in ((1, 20.0), (100, 120.0))]  # fmt: skip
    return {"bench": "publish", **MACHINE, "sizes": sizes}


def lines() -> list[dict[str, Any]]:
    return [ticks(), inference(), learner(), buffer(), publish()]
