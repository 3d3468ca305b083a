import logging
import threading
from collections.abc import Iterator, Sequence

import pytest

from app.errors import ServiceNotFoundError
from app.logs.entry import Entry, Source
from app.stores import error_forwarder
from app.stores.error_forwarder import WAITING_MAX, ErrorForwarder
from tests.logs.records import record

SOURCE = Source("p.t", "driver")


class Store:
    """Takes entries, or is away for some calls, or holds calls up."""

    def __init__(self, away: int = 0) -> None:
        self.taken: list[str] = []
        self.away = away
        self.open = threading.Event()
        self.open.set()
        self.asked = threading.Event()
        self.came = threading.Semaphore(0)

    def __call__(self, entries: Sequence[Entry]) -> None:
        self.asked.set()
        assert self.open.wait(10)
        if self.away:
            self.away -= 1
            raise ServiceNotFoundError("away")
        self.taken += [entry.message for entry in entries]
        for _ in entries:
            self.came.release()


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    made = logging.getLogger("tests.forwarded")
    yield made
    made.handlers.clear()


def test_warnings_and_errors_are_sent_and_the_rest_is_not(logger: logging.Logger) -> None:
    store = Store()
    forwarder = ErrorForwarder(SOURCE, store)
    logger.addHandler(forwarder)
    logger.setLevel(logging.DEBUG)
    logger.info("fine")
    logger.warning("careful")
    logger.error("broken")
    forwarder.close()
    forwarder.close()
    assert store.taken == ["careful", "broken"]


def test_a_store_that_is_away_for_a_while_gets_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(error_forwarder, "TRY_AGAIN_S", 0.01)
    store = Store(away=3)
    forwarder = ErrorForwarder(SOURCE, store)
    forwarder.emit(record("kept"))
    assert store.came.acquire(timeout=10)
    forwarder.close()
    assert store.taken == ["kept"]


def test_a_store_that_hangs_makes_nobody_wait_and_what_is_too_much_is_counted() -> None:
    store = Store()
    store.open.clear()
    forwarder = ErrorForwarder(SOURCE, store)
    forwarder.emit(record("first"))
    assert store.asked.wait(10)
    for _ in range(WAITING_MAX + 7):
        forwarder.emit(record("more"))
    assert forwarder.dropped == 7
    store.open.set()
    forwarder.close()
    assert len(store.taken) == 1 + WAITING_MAX


def test_closing_against_a_store_that_is_gone_ends() -> None:
    forwarder = ErrorForwarder(SOURCE, Store(away=10**9))
    forwarder.emit(record("lost"))
    forwarder.close()
    assert not forwarder._thread.is_alive()


def test_closing_outlasts_a_call_that_is_under_way() -> None:
    assert error_forwarder.CLOSE_S > error_forwarder.SEND_S  # Ray ends right after, and would end the process with it.


def test_rays_own_lines_are_passed_over() -> None:
    store = Store()
    forwarder = ErrorForwarder(SOURCE, store)
    made = record("of Ray")
    made.name = "ray.serve"
    forwarder.emit(made)
    forwarder.close()
    assert store.taken == []
