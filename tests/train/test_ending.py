"""The end of a trainer whose workers start anew while it is asked for."""

import asyncio

from ray.exceptions import RayActorError

from app.stores.dealer import Dealer, NoBatch
from app.stores.signal import Signal
from train.ending import AGAIN_S, Ending


class Streams:
    """A buffer's streams."""

    def __init__(self, dealer: Dealer) -> None:
        self.dealer = dealer
        self.away = False
        self.asked = 0

    def close(self) -> None:
        self.asked += 1
        if self.away:
            raise RayActorError
        self.dealer.close()


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now_s = 50.0

    def __call__(self) -> float:
        return self.now_s


async def over(dealer: Dealer, group: str) -> bool:
    """Returns whether a worker is told that its streams are over, rather than let wait."""
    try:
        async with asyncio.timeout(0.05):
            return await dealer.take(0, group) is NoBatch.OVER
    except TimeoutError:
        return False


async def test_workers_that_start_after_the_end_was_asked_for_end_as_well() -> None:
    dealer, clock = Dealer([], 1, 1, 10.0, Signal()), Clock()
    streams = Streams(dealer)
    ending = Ending([streams], clock)
    await dealer.open(0, "first")
    ending.ask()
    assert await over(dealer, "first")
    await dealer.open(0, "second")
    assert not await over(dealer, "second"), "a new group's streams are open, whatever was closed before"
    ending.ask_again()
    assert streams.asked == 1, "it is asked once a second"
    clock.now_s += AGAIN_S
    ending.ask_again()
    assert await over(dealer, "second")


async def test_a_buffer_that_is_away_is_asked_the_next_time_and_nobody_before_the_end_is_wanted() -> None:
    dealer, clock = Dealer([], 1, 1, 10.0, Signal()), Clock()
    streams = Streams(dealer)
    ending = Ending([streams], clock)
    await dealer.open(0, "first")
    clock.now_s += AGAIN_S
    ending.ask_again()
    assert streams.asked == 0
    streams.away = True
    ending.ask()
    clock.now_s += AGAIN_S
    ending.ask_again()
    streams.away = False
    clock.now_s += AGAIN_S
    ending.ask_again()
    assert streams.asked == 3
    assert await over(dealer, "first")


async def test_beside_an_input_that_is_away_the_others_end_at_once() -> None:
    away, there = Streams(Dealer([], 1, 1, 10.0, Signal())), Streams(Dealer([], 1, 1, 10.0, Signal()))
    away.away = True
    await there.dealer.open(0, "first")
    Ending([away, there], Clock()).ask()
    assert await over(there.dealer, "first")
