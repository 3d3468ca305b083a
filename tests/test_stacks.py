import threading
from collections.abc import Callable

from app.stacks import running_in


def seen_in(work: Callable[[threading.Event, threading.Event], None]) -> str:
    """Returns what a thread is said to be in while it waits inside ``work``."""
    inside, leave = threading.Event(), threading.Event()
    thread = threading.Thread(target=work, args=(inside, leave), daemon=True)
    thread.start()
    assert inside.wait(5)
    try:
        return running_in(thread.ident)
    finally:
        leave.set()
        thread.join(5)


def slow_code_of_a_user(inside: threading.Event, leave: threading.Event) -> None:
    inside.set()
    leave.wait(5)


def test_the_users_function_is_named_before_the_library_that_it_waits_in() -> None:
    named = seen_in(slow_code_of_a_user)
    assert named.startswith("slow_code_of_a_user (tests/test_stacks.py:")
    assert "threading.py:" in named or named.count("test_stacks.py") == 1


def test_a_method_is_named_with_its_class() -> None:
    class Agent:
        def on_tick(self, inside: threading.Event, leave: threading.Event) -> None:
            slow_code_of_a_user(inside, leave)

    assert "slow_code_of_a_user" in seen_in(Agent().on_tick)


def test_a_thread_that_has_ended_does_nothing() -> None:
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()
    assert running_in(thread.ident) == running_in(None) == "a thread that has ended"
