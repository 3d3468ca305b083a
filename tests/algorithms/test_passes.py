"""A network with a state sees in learning what it saw in playing."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from app.algorithms.estimators import Gae
from app.algorithms.learner import PolicyLearner, PolicySettings
from app.algorithms.passes import SequencePass, SequenceSettings, windows
from app.algorithms.ppo import ClippedPolicy
from app.models.distributions.categorical import Categorical
from app.models.module import PolicyOutput
from app.models.networks.policy import Policy, build
from app.models.spec import ArraySpec, ModelSpec
from app.replay.rows import empty_batch
from app.types import RowKind
from tests.plain_stepper import plain_stepper

from . import test_learner
from .test_learner import Workers, parameters_of

FULL, TERMINATED = int(RowKind.FULL), int(RowKind.TERMINATED)


class Counter(nn.Module):
    """Counts the ticks of a game, and values each by its number times a parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.spec = ModelSpec(ArraySpec((1,)), Categorical(2), {"ticks": ArraySpec((1,))})
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, observation: Tensor, state: dict[str, Tensor]) -> PolicyOutput:
        ticks = state["ticks"]
        logits = torch.cat([observation, -observation], 1) * self.scale
        return PolicyOutput(logits, ticks[:, 0] * self.scale, {"ticks": ticks + self.scale})


def played(lengths: Sequence[tuple[int, int]], spec: ModelSpec) -> dict[str, Tensor]:
    """Returns trajectories of so many steps and this kind of end; behind a full one its game goes on."""
    kinds, ticks = [], []
    tick = 0
    for steps, kind in lengths:
        kinds += [0] * steps + [kind]
        ticks += list(range(tick, tick + steps + 1))
        tick = tick + steps if kind == FULL else 0
    batch = {name: torch.from_numpy(column) for name, column in empty_batch(spec, len(kinds)).items()}
    batch["kind"] = torch.tensor(kinds, dtype=torch.int8)
    batch["tick"] = torch.tensor(ticks, dtype=torch.int32)
    batch["weight"] = (batch["kind"] == 0).float()
    return batch


TRAJECTORIES = st.lists(st.tuples(st.integers(0, 7), st.sampled_from([FULL, TERMINATED])), min_size=1, max_size=6)


@given(TRAJECTORIES, st.integers(1, 8), st.integers(0, 4))
def test_every_row_of_a_trajectory_is_in_one_sequence(
    lengths: list[tuple[int, int]], ticks: int, burn_in_ticks: int
) -> None:
    kind = np.concatenate([[0] * steps + [end] for steps, end in lengths]).astype(np.int8)
    found = windows(kind, SequenceSettings(ticks, burn_in_ticks))
    rows = [row for window in found for row in range(window.first, window.end)]
    start, expected = 0, []
    for steps, _ in lengths:
        expected += range(start, start + steps + 1) if steps else []
        start += steps + 1
    assert rows == expected
    for window in found:
        assert window.end - window.first <= ticks + 1  # A bootstrap row comes on top.
        assert 0 <= window.first - window.begin <= burn_in_ticks
        assert (kind[window.begin : window.end - 1] == 0).all()


@given(TRAJECTORIES, st.integers(1, 8), st.integers(0, 4))
def test_the_state_seen_is_the_stored_one_at_a_start_and_zero_behind_an_end(
    lengths: list[tuple[int, int]], ticks: int, burn_in_ticks: int
) -> None:
    module = Counter()
    batch = played(lengths, module.spec)
    batch["state/ticks"] = batch["tick"][:, None].float()
    led = SequencePass(module, module.spec, batch, SequenceSettings(ticks, burn_in_ticks))
    _, value = led.everything()
    inside = torch.cat([torch.full((steps + 1,), steps > 0) for steps, _ in lengths])
    assert value[inside].tolist() == batch["tick"][inside].tolist()
    units = torch.arange(led.units)
    assert led.size(units) == sum(steps for steps, _ in lengths)
    if led.units:
        rows, (*_, learned) = led.learned(units)
        assert sorted(rows.tolist()) == torch.nonzero(batch["weight"]).squeeze(1).tolist()
        assert learned.tolist() == batch["tick"][rows].tolist()


def test_a_stale_state_is_brought_up_to_date_by_the_burn_in_and_takes_no_gradient_from_it() -> None:
    module = Counter()
    batch = played([(6, TERMINATED)], module.spec)
    batch["state/ticks"] = torch.full((7, 1), 100.0)
    batch["state/ticks"][2] = 2.0  # Where the second sequence begins with its burn-in.
    led = SequencePass(module, module.spec, batch, SequenceSettings(4, 2))
    _, (*_, value) = led.learned(torch.tensor([1]))
    assert value.tolist() == [4.0, 5.0]
    value[0].backward()  # type: ignore[no-untyped-call]
    assert module.scale.grad is not None
    assert module.scale.grad.item() == 4.0  # Of value = 4 · scale alone: the 4 came through no gradient.


def lstm() -> Policy:
    torch.manual_seed(3)
    return build(
        {"shape": [3]}, {"choices": 2}, encoder={"kind": "mlp", "hidden": [4]}, memory={"kind": "lstm", "units": 5}
    )


def test_gradients_are_those_of_the_network_unrolled_in_time() -> None:
    module = lstm()
    batch = played([(5, FULL), (3, TERMINATED)], module.spec)
    draw = torch.Generator().manual_seed(0)
    batch["observation"] = torch.randn(10, 3, generator=draw)
    for name in ("state/cell", "state/hidden"):
        batch[name] = torch.randn(10, 5, generator=draw)
    led = SequencePass(module, module.spec, batch, SequenceSettings(8, 0))
    rows, (logits, value) = led.learned(torch.arange(2))
    factor = torch.randn(10, 3, generator=draw)
    loss = (logits * factor[rows, :2]).sum() + (value * factor[rows, 2]).sum()
    got = torch.autograd.grad(loss, list(module.parameters()))
    expected_loss = torch.zeros(())
    for start, steps in ((0, 5), (6, 3)):
        state = {name: batch[f"state/{name}"][start : start + 1] for name in ("cell", "hidden")}
        seen = batch["observation"][start : start + steps, None]
        whole = module.unroll(seen, state, torch.zeros(steps, 1, dtype=torch.bool))
        part = factor[start : start + steps]
        expected_loss = (
            expected_loss + (whole.dist_inputs[:, 0] * part[:, :2]).sum() + (whole.value[:, 0] * part[:, 2]).sum()
        )
    torch.testing.assert_close(got, torch.autograd.grad(expected_loss, list(module.parameters())))


def learner_of(module: Policy, sequences: SequenceSettings | None) -> PolicyLearner:
    stepper = plain_stepper(module, torch.optim.Adam(module.parameters(), 0.02), 1.0)
    settings = PolicySettings(Gae(0.9, 0.9), ClippedPolicy(0.2, 0.5, 0.0), True, 4, 2, sequences)
    return PolicyLearner(module, module.spec, stepper, settings, 1, lambda x: x)


def test_a_worker_whose_batch_holds_no_sequence_steps_beside_the_other() -> None:
    workers, alone = Workers(2, make=lstm), lstm()
    batch, _ = recalled(alone, 16, np.random.default_rng(0))
    padding = {name: torch.from_numpy(column) for name, column in empty_batch(alone.spec, 8).items()}
    settings = PolicySettings(Gae(0.9, 0.9), ClippedPolicy(0.2, 0.5, 0.0), True, 2, 1, SequenceSettings(8, 0))
    found = workers.update([batch, padding], settings)
    expected = test_learner.learner_of(alone, settings).update(batch, torch.Generator())
    for metrics, module in zip(found, workers.modules, strict=True):
        torch.testing.assert_close(parameters_of(module), parameters_of(alone), rtol=1e-5, atol=1e-6)
        assert metrics == pytest.approx(expected.metrics, rel=1e-4, abs=1e-6)


def test_of_no_sequence_nothing_is_said_and_each_gradient_is_zero() -> None:
    module = lstm()
    batch = played([(3, TERMINATED)], module.spec)
    led = SequencePass(module, module.spec, batch, SequenceSettings(8, 0))
    rows, leaves = led.learned(torch.arange(0))
    assert (len(rows), [len(leaf) for leaf in leaves]) == (0, [0, 0])
    gradients = torch.autograd.grad(sum(leaf.sum() for leaf in leaves), list(module.parameters()))
    assert not any(gradient.any() for gradient in gradients)


def test_a_network_with_a_state_needs_to_know_its_sequences() -> None:
    with pytest.raises(ValueError, match="carries a state, and the settings do not say how"):
        learner_of(lstm(), None)


def recalled(module: Policy, games: int, rng: np.random.Generator) -> tuple[dict[str, Tensor], float]:
    """Plays games of three ticks: the first observation shows what the last action must be."""
    hint = rng.integers(0, 2, games)
    seen = np.zeros((4, games, 3), np.float32)
    seen[0, np.arange(games), hint] = 1
    state = {name: torch.zeros(games, 5) for name in ("cell", "hidden")}
    columns: dict[str, list[Tensor]] = {name: [] for name in ("action", "log_prob", "state/cell", "state/hidden")}
    for tick in range(4):
        for name, part in state.items():
            columns[f"state/{name}"].append(part)
        with torch.no_grad():
            out = module(torch.from_numpy(seen[tick]), state)
        policy = torch.distributions.Categorical(logits=out.dist_inputs)
        action = torch.from_numpy((rng.random(games) < policy.probs[:, 1].numpy()).astype(np.int64))
        columns["action"].append(action)
        columns["log_prob"].append(policy.log_prob(action))
        state = out.state
    right = columns["action"][2] == torch.from_numpy(hint)
    batch = played([(3, TERMINATED)] * games, module.spec)
    batch |= {name: torch.stack(column, 1).flatten(0, 1) for name, column in columns.items()}
    batch["observation"] = torch.from_numpy(seen).transpose(0, 1).flatten(0, 1)
    batch["reward"][2::4] = right.float()
    return batch, float(right.float().mean())


def test_a_recurrent_learner_remembers_what_it_saw_first() -> None:
    module, rng = lstm(), np.random.default_rng(0)
    learner = learner_of(module, SequenceSettings(8, 0))
    for update in range(25):
        batch, _ = recalled(module, 64, rng)
        learner.update(batch, torch.Generator().manual_seed(update))
    assert recalled(module, 200, rng)[1] > 0.95
