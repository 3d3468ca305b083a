"""What looks after something beside training goes on whatever a look meets, and ends when it is told to."""

import threading

from ray.exceptions import RayActorError

from app.errors import LeagueError
from train.beside import Beside


def test_looks_that_fail_are_followed_by_others_until_the_end() -> None:
    failures = iter([LeagueError("away"), RayActorError(), OSError("disk"), TimeoutError()])
    looked = threading.Event()

    def look() -> None:
        failure = next(failures, None)
        if failure is not None:
            raise failure
        looked.set()

    beside = Beside("something", look)
    beside.start()
    assert looked.wait(10)
    beside.close(10)
    looked.clear()
    assert not looked.wait(0.5)


def test_a_long_look_hears_of_the_end() -> None:
    begun, ended = threading.Event(), threading.Event()

    def look() -> None:
        begun.set()
        while not beside.wait():
            pass
        ended.set()

    beside = Beside("something", look)
    beside.start()
    assert begun.wait(10)
    beside.close(10)
    assert ended.is_set()


def test_one_that_never_began_ends_at_once() -> None:
    Beside("something", lambda: None).close(0.1)
