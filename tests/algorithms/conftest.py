"""What all tests of algorithms share."""

from tests.one_thread import one_thread  # noqa: F401  # Pytest finds it here.
