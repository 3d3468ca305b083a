"""Queues by hand, and the load that they bear."""

import numpy as np
import pytest

from app.games.allocation.queues import Queues


def queues(load: float = 0.5, seed: int = 1) -> Queues:
    return Queues(np.array([1.0, 4.0]), 3, load, np.random.default_rng(seed))


def test_a_job_takes_what_lies_in_front_of_it_and_its_own_size_at_the_servers_speed() -> None:
    one = queues()
    one.backlog[:] = (3.0, 6.0)
    assert one.waits_s().tolist() == [4.0, 1.75]
    delay_s = one.send(1)
    assert delay_s == one.backlog[1] / 4
    assert one.backlog[0] == 3.0
    assert one.backlog[1] > 6.0


def test_servers_work_while_nothing_arrives_and_then_stand_still() -> None:
    one = queues()
    one.backlog[:] = (1e-9, 1000.0)
    agent = one.next_arrival()
    assert agent in range(3)
    assert one.backlog[0] == 0.0
    assert one.backlog[1] == pytest.approx(1000.0 - 4 * one.time_s)


def test_jobs_arrive_at_the_load() -> None:
    one = queues(load=0.8)
    arrivals = [one.next_arrival() for _ in range(4000)]
    assert 4000 / one.time_s == pytest.approx(0.8 * 5, rel=0.06)
    assert np.bincount(arrivals).min() > 1200


@pytest.mark.parametrize("load", [0.0, 1.0])
def test_a_load_that_nothing_or_no_server_bears_is_refused(load: float) -> None:
    with pytest.raises(ValueError, match="allowed is above 0 and below 1"):
        queues(load)
