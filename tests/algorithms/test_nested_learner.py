"""PPO over nested columns learns what a flat computation by hand says."""

import numpy as np
import torch
from torch import Tensor, nn

from app.algorithms.estimators import Gae
from app.algorithms.gae import gae
from app.algorithms.learner import PolicyLearner, PolicySettings
from app.algorithms.ppo import ClippedPolicy
from app.models.distributions.categorical import Categorical
from app.models.distributions.gaussian import Gaussian
from app.models.module import PolicyOutput
from app.models.spec import ArraySpec, ModelSpec
from app.replay.rows import empty_batch
from app.types import RowKind
from tests.plain_stepper import plain_stepper

RATE = 0.1
SETTINGS = PolicySettings(Gae(0.9, 0.8), ClippedPolicy(0.2, 0.5, 0.01), normalise=True, epochs=1, minibatches=1)
KINDS = [0, 0, int(RowKind.FULL), 0, 0, 0, int(RowKind.TERMINATED)]


class Nested(nn.Module):
    """Dict in, tuple out; one linear layer."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.spec = ModelSpec(
            {"me": ArraySpec((2,)), "far": (ArraySpec((1,)),)}, (Categorical(3), {"go": Gaussian((2,))})
        )
        self.layer = nn.Linear(3, 3 + 4 + 1)

    def forward(self, observation: dict[str, Tensor]) -> PolicyOutput:
        choice, go, value = self.layer(flat_of(observation)).split([3, 4, 1], -1)
        return PolicyOutput((choice, {"go": go}), value.squeeze(-1))


def flat_of(observation: dict[str, Tensor]) -> Tensor:
    return torch.cat([observation["me"], observation["far"][0]], -1)


def batch_of() -> dict[str, Tensor]:
    rng = np.random.default_rng(0)
    rows = len(KINDS)
    batch = {name: torch.from_numpy(column) for name, column in empty_batch(Nested().spec, rows).items()}
    batch["observation/me"] = torch.from_numpy(rng.normal(size=(rows, 2)).astype(np.float32))
    batch["observation/far/0"] = torch.from_numpy(rng.normal(size=(rows, 1)).astype(np.float32))
    batch["action/0"] = torch.tensor([0, 2, 0, 2, 0, 2, 0])
    batch["action_mask/0"] = torch.tensor([[1, 0, 1]] * rows, dtype=torch.uint8)
    batch["action/1/go"] = torch.from_numpy(rng.normal(size=(rows, 2)).astype(np.float32))
    batch["reward"] = torch.from_numpy(rng.normal(size=rows).astype(np.float32))
    batch["kind"] = torch.tensor(KINDS, dtype=torch.int8)
    batch["weight"] = (batch["kind"] == 0).float()
    batch["log_prob"] = torch.full((rows,), -2.0)
    return batch


def parameters_of(module: nn.Module) -> Tensor:
    return torch.cat([x.detach().flatten().clone() for x in module.parameters()])


def step_by_hand(module: Nested, batch: dict[str, Tensor]) -> Tensor:
    """Returns the parameters after one step, computed with torch's own distributions on flat tensors."""
    out = module.layer(torch.cat([batch["observation/me"], batch["observation/far/0"]], -1))
    value, counted = out[:, 7], batch["weight"] > 0
    columns = batch["reward"].numpy(), value.detach().numpy(), batch["kind"].numpy()
    advantage = torch.from_numpy(gae(*columns, 0.9, 0.8))[counted].double()
    normal = (advantage - advantage.mean()) / advantage.std(correction=0)
    choice = torch.distributions.Categorical(logits=out[counted][:, [0, 2]])  # What the mask allows.
    go = torch.distributions.Normal(out[counted, 3:5], out[counted, 5:7].exp())
    log_prob = choice.log_prob(batch["action/0"][counted] // 2) + go.log_prob(batch["action/1/go"][counted]).sum(-1)
    entropy = choice.entropy() + go.entropy().sum(-1)
    ratio = (log_prob - batch["log_prob"][counted]).exp()
    policy = -torch.minimum(ratio * normal, ratio.clamp(0.8, 1.2) * normal)
    squares = (value[counted] - (advantage + value.detach()[counted])).square()
    loss = (policy + 0.5 * squares - 0.01 * entropy).mean()
    gradients = torch.autograd.grad(loss, list(module.parameters()))
    return parameters_of(module) - RATE * torch.cat([g.flatten() for g in gradients]).float()


def test_a_nested_update_is_the_flat_one_by_hand() -> None:
    module, batch = Nested(), batch_of()
    expected = step_by_hand(module, batch)
    before = parameters_of(module)
    optimizer = torch.optim.SGD(module.parameters(), RATE)
    PolicyLearner(module, module.spec, plain_stepper(module, optimizer, 1e9), SETTINGS, 1, lambda x: x).update(
        batch, torch.Generator()
    )
    torch.testing.assert_close(parameters_of(module), expected)
    assert not torch.equal(before, expected)
