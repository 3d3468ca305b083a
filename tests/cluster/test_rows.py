"""Rows on two nodes: a slow learner lets nothing grow, and none is handed out twice whatever breaks."""

import threading
from collections import Counter
from contextlib import ExitStack

import pytest

from app.client.simulator import Transport
from tests.ring.learner import Learner
from tests.ring.service import playing, wait_until
from tests.ring.test_faults import ROOMY, steps_in
from tests.ring.test_flood import pss_by_process
from tests.ring.test_hand_over import kill, totals

from .nodes import Nodes, SpreadService

pytestmark = [pytest.mark.cluster, pytest.mark.long]

SHARDS = ("buffers.rollouts.shards=2", "buffers.rollouts.max_policy_lag=1000")
SETTLED_TICKS = 250_000
"""Until then what is bounded grows to its bound: replies that are kept, sessions that are remembered, sketches."""
TICKS = 100_000
PLAYED_S = 400.0
GROWTH_MIB_MAX = 10.0
"""Of any process over ``TICKS``; the rows alone would be more."""
CUT_S = 2.0


def pids(nodes: Nodes) -> list[int]:
    """Returns what runs on both machines."""
    return [*nodes.head.pids(), *nodes.other.pids()]


def test_rows_that_nobody_takes_are_dropped_and_counted_and_memory_stays_flat(nodes: Nodes) -> None:
    with SpreadService(nodes, "flooded", *SHARDS) as service:
        version = str(service.send(1))
        wait_until(lambda: service.plays(version), "both play it")
        buffer = service.trial.buffer("rollouts")
        learner = Learner(buffer, "all")
        with playing(service.url) as near, playing(service.other_url, seed=8) as far:

            def played(ticks: int) -> None:
                wait_until(lambda: totals(service)["ticks_train"] > ticks, f"{ticks} ticks are played", PLAYED_S)

            played(SETTLED_TICKS)
            learner.next()
            first, before_mib = buffer.stats(), pss_by_process(pids(nodes))
            played(totals(service)["ticks_train"] + TICKS)
            learner.next()
            last, after_mib = buffer.stats(), pss_by_process(pids(nodes))
        buffer.close()
        for core in (near.result(), far.result()):
            assert (core.lost_games, core.errors) == (0, 0), core
        assert last.inserted - first.inserted > 0.5 * TICKS
        assert last.inserted == last.popped + last.dropped + last.held
        assert last.held <= first.held + 2 * 256
        grown = {process: after_mib[process] - before_mib[process] for process in before_mib.keys() & after_mib.keys()}
        assert len([name for _, name in grown if "ServeReplica" in name]) == 2
        assert not {process: mib for process, mib in grown.items() if mib > GROWTH_MIB_MAX}


def test_no_row_is_handed_out_twice_when_a_link_is_cut_and_a_replica_is_killed(nodes: Nodes) -> None:
    often = ("snapshot_every_ticks=6", "unroll_ticks=2", "push_ms=5")
    settings = (*(f"actors.main.{setting}" for setting in often), *SHARDS, *ROOMY)
    with SpreadService(nodes, "recording", *settings) as service, ExitStack() as stack:
        version = str(service.send(1))
        wait_until(lambda: service.plays(version), "both play it")
        victim = service.other_status()["pid"]
        learner = Learner(service.trial.buffer("rollouts"), "all")
        recorded: Counter[tuple[int, int]] = Counter()

        def learn(batches: int) -> None:
            for _ in range(batches):
                recorded.update(steps_in(learner.next()))

        near = stack.enter_context(playing(service.url, games=12, transport=Transport.STEP))
        with nodes.other.joined():
            far = stack.enter_context(playing(service.other_url, games=12, seed=8, transport=Transport.STEP))
        learn(4)
        with nodes.other.cut_off():  # Acknowledgements of rows that have arrived are lost with it.
            threading.Event().wait(CUT_S)
        learn(10)
        kill(victim)
        wait_until(lambda: totals(service)["games_recovered"] > 0, "games are restored", 60)
        learn(20)
        learner.buffer.close()
        stack.close()
        for core in (near.result(), far.result()):
            assert (core.lost_games, core.errors) == (0, 0), core
        assert [row for row, times in recorded.items() if times > 1] == []
        assert len(recorded) > 20 * 128
