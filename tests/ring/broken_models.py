"""User code with faults, named in the tests' configs; all its networks have the shapes of the shipped one."""

import hashlib
import os
import signal
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from app.games.cartpole.model import CartPolePolicy
from app.models.module import PolicyOutput

RAISING, SLOW, NOT_FINITE = 1, 2, 3


class Failing(CartPolePolicy):
    """Plays well and cannot be trained."""

    def forward(self, observation: Tensor) -> PolicyOutput:
        if torch.is_grad_enabled():
            raise ArithmeticError("the loss of [this] game [/is] wrong on purpose")
        return super().forward(observation)


class Watched(CartPolePolicy):
    """Writes down the digest of its parameters before each pass of training, a line a pass, a file a process."""

    def __init__(self, folder: str) -> None:
        super().__init__(64)
        self._folder = Path(folder)

    def forward(self, observation: Tensor) -> PolicyOutput:
        if torch.is_grad_enabled():
            rank = torch.distributed.get_rank() if torch.distributed.is_initialized() else 0
            digest = hashlib.sha256(b"".join(x.detach().numpy().tobytes() for x in self.parameters())).hexdigest()
            with (self._folder / f"{rank}-{os.getpid()}").open("a") as file:
                file.write(f"{digest}\n")
        return super().forward(observation)


class Mortal(CartPolePolicy):
    """Kills the last worker's process in one of its passes of training, once: then a file says that it has died."""

    def __init__(self, folder: str, dies_at_pass: int) -> None:
        super().__init__(64)
        self._died = Path(folder) / "died"
        self._passes_left = dies_at_pass

    def forward(self, observation: Tensor) -> PolicyOutput:
        if torch.is_grad_enabled() and self._is_last() and not self._died.exists():
            self._passes_left -= 1
            if self._passes_left == 0:
                self._died.touch()
                os.kill(os.getpid(), signal.SIGKILL)
        return super().forward(observation)

    def _is_last(self) -> bool:
        if not torch.distributed.is_initialized():
            return True
        return torch.distributed.get_rank() == torch.distributed.get_world_size() - 1


class Moody(CartPolePolicy):
    """Answers zeros well; what it does about anything else is written in its weights."""

    def __init__(self) -> None:
        super().__init__(64)
        self.register_buffer("mood", torch.zeros(1))

    def forward(self, observation: Tensor) -> PolicyOutput:
        mood = int(self.get_buffer("mood")) if observation.any() else 0
        if mood == RAISING:
            raise ArithmeticError("on purpose")
        if mood == SLOW:
            time.sleep(1)
        output = super().forward(observation)
        return output._replace(value=output.value + torch.nan) if mood == NOT_FINITE else output


def moody() -> CartPolePolicy:
    return Moody()


def failing() -> CartPolePolicy:
    return Failing(64)


def watched(folder: str) -> CartPolePolicy:
    return Watched(folder)


def another(**_: Any) -> CartPolePolicy:
    """Returns a network of other shapes than the service plays."""
    return CartPolePolicy(32)


class Unfollowed(CartPolePolicy):
    """Plays with torch; its way through the network depends on the numbers, so no graph can be written."""

    def forward(self, observation: Tensor) -> PolicyOutput:
        return super().forward(observation if observation.sum().item() < 1e6 else -observation)


def unfollowed() -> CartPolePolicy:
    return Unfollowed(64)
