"""Lines as the benchmarks print them, of round numbers; ``tests/train/bench/test_planned.py`` compares the keys."""

import json
from pathlib import Path
from typing import Any

MACHINE = {"machine": "8 cores"}


def figure(median: float) -> dict[str, object]:
    return {"median": median, "iqr": 0.0, "runs": 5, "measured": True}


def cell(connections: int, body_bytes: int, cpu_us: float) -> dict[str, object]:
    return {
        "transport": "http", "connections": connections, "body_bytes": body_bytes, "cpu_us": figure(cpu_us),
    }  # fmt: skip


def ticks() -> dict[str, Any]:
    """A tick takes 50 µs in a busy replica and 70 in an idle one, 4096 bytes 40 more; forwarded 30 more."""
    cells = [cell(1, 64, 70), cell(32, 64, 50), cell(1, 4096, 110), cell(32, 4096, 90)]
    cartpole = [{"transport": "http", "connections": n, "cpu_us": figure(us)} for n, us in ((8, 100.0), (32, 90.0))]
    both = {"direct": {"cpu_us": figure(60)}, "forwarded": {"cpu_us": figure(90)}}
    memory = {"kib_per_idle_session": 8.0}
    return {"bench": "ticks", **MACHINE, "cells": cells, "cartpole": cartpole, "forwarded": both, "memory": memory}


def inference() -> dict[str, Any]:
    """A call of the small network takes 62 µs and 2 a row, a decision 10 more around it; a remote one 20 µs in all."""
    many, one = 62 / 32 + 2, 64.0
    local = {"cpu_us": figure(many + 10), "limit_engine_cpu_us": figure(many)}
    direct = {"observations_per_s": figure(50_000.0), "caller_cpu_us": figure(15.0)}
    return {
        "bench": "inference", **MACHINE,
        "local_mlp": {**local, "limit_engine_one_by_one_cpu_us": figure(one)},
        "remote_mlp": {"direct": direct},
    }  # fmt: skip


def learner(size_mb: float = 1.0) -> dict[str, Any]:
    """One worker learns from 100,000 samples a second, two from 160,000."""
    workers = [
        {"workers": n, "strategies": [{"strategy": "ddp", "samples_per_s": figure(rate)}]}
        for n, rate in ((1, 1e5), (2, 1.6e5))
    ]
    return {"bench": "learner", **MACHINE, "mb": size_mb, "workers": workers}


def buffer() -> dict[str, Any]:
    """A row of 64 bytes takes 5 µs in all, 2 of them the push."""
    rows = [
        {"rows_per_s": figure(rate), "mb_per_s": rate * size / 2**20, "cpu_us_per_row": figure(us)}
        for size, rate, us in ((64, 400_000, 5), (28_000, 10_000, 60))
    ]
    return {"bench": "buffer", **MACHINE, "rows": rows, "push": {"cpu_us_per_row": figure(2.0)}}


def publish() -> dict[str, Any]:
    """Weights of 1 MiB answer after 20 ms, of 100 MiB after 120."""
    sizes = [{"mb": mb, "reach_ms": figure(ms / 2), "whole_ms": figure(ms)} for mb, ms in ((1, 20.0), (100, 120.0))]
    return {"bench": "publish", **MACHINE, "sizes": sizes}


def lines() -> list[dict[str, Any]]:
    return [ticks(), inference(), learner(), buffer(), publish()]


def written(folder: Path, found: list[dict[str, Any]] | None = None) -> Path:
    path = folder / "measured.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in found or lines()))
    return path
