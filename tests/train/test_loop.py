"""Which errors end a training run, and which a restart of its workers mends."""

import pytest
import torch
from ray.exceptions import ActorUnavailableError, RayTaskError

from train.loop import _passes_with_a_restart

AWAY = ActorUnavailableError("it is restarting", None)


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (AWAY, True),
        (RayTaskError("read", "Traceback: it is restarting", AWAY).as_instanceof_cause(), True),
        (torch.distributed.DistBackendError("a peer has closed the connection"), True),
        (RuntimeError("[/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer"), True),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), False),
        (RayTaskError("loss", "Traceback: it is no number", ValueError("no number")).as_instanceof_cause(), False),
    ],
)
def test_a_restart_mends_what_others_have_broken(error: Exception, passes: bool) -> None:
    assert _passes_with_a_restart(error) is passes
