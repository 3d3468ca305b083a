"""How replicas of a model are found by Serve's handle."""

from collections import Counter
from typing import TYPE_CHECKING, Any, cast

import pytest
from ray.exceptions import RayActorError
from ray.serve._private.common import DeploymentID
from ray.serve.exceptions import DeploymentUnavailableError

from app.models.module import spec_of
from deployments.model_calls import ModelCalls
from deployments.model_channels import Endpoint
from tests.small_policy import small_policy

if TYPE_CHECKING:
    from ray.serve.handle import DeploymentHandle

HERE = Endpoint("one", "127.0.0.1", 4000)


class Broadcast:
    """Answers a broadcast as Serve does: with what each replica returned or raised, or by raising itself."""

    def __init__(self, answer: list[object] | Exception) -> None:
        self._answer = answer

    def broadcast(self, method: str) -> "Broadcast":
        assert method == "endpoint"
        return self

    async def results_async(self, *, timeout_s: float, return_exceptions: bool) -> list[object]:
        assert timeout_s > 0
        assert return_exceptions
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


def calls_of(answer: list[object] | Exception) -> ModelCalls:
    handle = cast("DeploymentHandle[Any]", Broadcast(answer))
    return ModelCalls(handle, spec_of(small_policy(1)), "secret", Counter(), direct=True)


async def test_replicas_that_do_not_say_where_they_listen_are_left_out() -> None:
    assert await calls_of([HERE, None, RayActorError()]).find() == [HERE]


async def test_a_model_whose_last_replica_has_ended_has_none_until_the_next_one_is_there() -> None:
    assert await calls_of(DeploymentUnavailableError(DeploymentID("model-main", "service"))).find() == []


async def test_what_else_goes_wrong_is_raised() -> None:
    with pytest.raises(TimeoutError, match="late"):
        await calls_of(TimeoutError("late")).find()
