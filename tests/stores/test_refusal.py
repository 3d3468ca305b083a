from itertools import pairwise

import pytest

from app.stores.refusal import refusal


def raised(*messages: str) -> BaseException:
    """Returns an error that was caused by others, the first one outermost."""
    errors = [ConnectionError(message) for message in messages]
    for error, cause in pairwise(errors):
        error.__cause__ = cause
    return errors[0]


@pytest.mark.parametrize(
    "messages",
    [
        ["Failed to connect", "Failed to connect to GCS. … AuthenticationError: RPC error: InvalidAuthToken: missing"],
        ["Missing authentication token"],
    ],
)
def test_a_token_that_is_missing_is_told_from_a_cluster_that_is(messages: list[str]) -> None:
    assert "export RAY_AUTH_MODE=token" in str(refusal(raised(*messages)))


def test_another_failure_is_none_of_a_token() -> None:
    assert refusal(raised("Failed to connect to Ray cluster at 192.0.2.2:6379", "timed out")) is None
