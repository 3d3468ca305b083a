"""What must hold for every algorithm that a config can name: ends, time limits, masks, states, priorities."""

import pytest
import torch
from torch import Tensor

from app.models.distributions.action import log_prob
from app.models.module import call, spec_of
from app.replay.n_step import n_step
from app.types import RowKind

from .kinds import (
    CLASSES,
    CRITICS_OF_CHOICES,
    DISTRIBUTED,
    EVERY,
    GAMMA,
    NOT_HERE,
    OF_TRANSITIONS,
    POLICIES,
    POLICIES_OF_NUMBERS,
    RECURRENT,
    SWITCHED,
    TRACED,
    VALUES,
    WITHOUT_MEMORY,
    Case,
)

STEP, FULL, TERMINATED, TRUNCATED, LOST = RowKind
Batch = dict[str, Tensor]


def test_no_algorithm_is_left_out() -> None:
    assert {case.kind for case in EVERY} | NOT_HERE == set(CLASSES)


def cases(*groups: list[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", [case for group in groups for case in group], ids=str)


def draws(case: Case) -> bool:
    """Returns whether what rows are worth depends on actions that are drawn."""
    return case.kind == "sac" and not case.acts_by_choice


def garbled(batch: Batch, rows: slice) -> Batch:
    """Returns a batch with other numbers in some rows, and with no weight there."""
    changed = {name: x.clone() for name, x in batch.items()}
    changed["observation"][rows] = changed["observation"][rows] * -3 + 2
    changed["reward"][rows] = 1e3
    changed["log_prob"][rows] = -0.01
    changed["weight"][rows] = 0
    for name in [name for name in batch if name.startswith("state")]:
        changed[name][rows] = 7.0
    return changed


@pytest.mark.parametrize("end", [FULL, TERMINATED, TRUNCATED, LOST], ids=lambda end: end.name)
@cases(EVERY)
def test_a_trajectory_takes_nothing_from_its_neighbours_in_a_batch(case: Case, end: RowKind) -> None:
    """Cases 3 and 11: neither values nor states cross an end, forwards or backwards."""
    batch = case.rows([(3, end), (2, end), (4, end)])
    quiet = {name: x.clone() for name, x in batch.items()}
    quiet["weight"][:4] = quiet["weight"][7:] = 0
    before, after = slice(0, 4), slice(7, 12)
    wanted, _ = case.learned(quiet)
    got, _ = case.learned(garbled(garbled(quiet, before), after))
    alone, _ = case.learned({name: x[4:7] for name, x in batch.items()})
    first = torch.cat([x.detach().flatten() for x in case.network().parameters()])
    assert not torch.equal(got, first)
    torch.testing.assert_close(got, wanted, rtol=1e-5, atol=1e-6)
    if not draws(case):  # Else other actions are drawn where there are fewer rows.
        rounding = 2e-4 if case.kind == "trpo" else 1e-6  # Conjugate gradients make more of the last bit.
        torch.testing.assert_close(got, alone, rtol=1e-5, atol=rounding)


@cases(WITHOUT_MEMORY, DISTRIBUTED)
def test_behind_a_death_is_nothing_and_behind_a_time_limit_the_state_reached(case: Case) -> None:
    """Case 4."""

    def learned(end: RowKind, *, moved: bool) -> Tensor:
        batch = case.rows([(3, end), (2, FULL)])
        if moved:
            batch["observation"][3] += 1.5
        return case.learned(batch)[0]

    torch.testing.assert_close(learned(TERMINATED, moved=True), learned(TERMINATED, moved=False), rtol=0, atol=1e-7)
    assert not torch.allclose(learned(TRUNCATED, moved=True), learned(TRUNCATED, moved=False), rtol=0, atol=1e-6)
    assert not torch.allclose(learned(TRUNCATED, moved=False), learned(TERMINATED, moved=False), rtol=0, atol=1e-6)


def value_reached(case: Case, observation: Tensor) -> Tensor:
    """Returns what each algorithm thinks that a state is worth, by the definition in its paper, [1]."""
    module = case.network()
    if case in VALUES:
        values: Tensor = module(observation, returns=True).mean(-1)
        return values.max(-1).values
    output = module(observation)
    if case.kind in ("td3", "ddpg"):
        middle, half = 1.0, 3.0  # Of [-2, 4].
        action = middle + half * output.dist_inputs[:, :2].tanh()
        return module(observation, action, criticise=True).min(0).values
    if case.kind == "sac":
        policy = output.dist_inputs.softmax(-1)
        q = module(observation, criticise=True).min(0).values
        return (policy * (q - policy.log())).sum(-1)  # The temperature begins at 1.
    return output.value


@cases([case for case in WITHOUT_MEMORY if not draws(case)])
def test_a_time_limit_is_a_death_that_pays_the_discounted_value_of_the_state_reached(case: Case) -> None:
    """Case 4, by the number: what is behind a truncation is worth γ V, and nothing else."""
    gamma = GAMMA if case.kind != "alpha_zero" else 0.8
    limit, death = case.rows([(3, TRUNCATED)]), case.rows([(3, TERMINATED)])
    with torch.no_grad():
        death["reward"][2] += gamma * value_reached(case, limit["observation"][3:4])[0]
    got, _ = case.learned(limit, gamma=gamma)
    wanted, _ = case.learned(death, gamma=gamma)
    torch.testing.assert_close(got, wanted, rtol=1e-5, atol=1e-6)


@cases(POLICIES, RECURRENT)
def test_with_one_legal_action_there_is_no_policy_to_learn(case: Case) -> None:
    """Case 12: probability 1, entropy 0, and a policy that stays where it is."""
    batch = case.rows([(3, TRUNCATED), (2, TERMINATED)])
    batch["action_mask"][:] = torch.tensor([0, 1, 0], dtype=torch.uint8)
    batch["action"][:] = 1
    batch["log_prob"][:] = 0.0
    if "policy_target" in batch:
        batch["policy_target"][:] = batch["weight"][:, None] * torch.tensor([0.0, 1.0, 0.0])
    module = case.network()
    with torch.no_grad():
        module.get_parameter("heads.0.logits.bias")[0] = 3.0  # What is wanted most is forbidden.
    head = [x.detach().clone() for x in module.get_submodule("heads").parameters()]
    learned = case.learner(module).update(batch, torch.Generator().manual_seed(0))
    assert learned.metrics["entropy"] == 0
    assert all(torch.isfinite(x).all() for x in module.parameters())
    for x, was in zip(module.get_submodule("heads").parameters(), head, strict=True):
        assert torch.equal(x, was)


@cases(VALUES, CRITICS_OF_CHOICES, [case for case in TRACED if case.acts_by_choice])
def test_with_one_legal_action_values_know_no_other(case: Case) -> None:
    """Case 12 for values: what is forbidden in a state reached changes no target, whatever it seems to be worth."""
    batch = case.rows([(3, TRUNCATED), (2, TERMINATED)])
    batch["action_mask"][:] = torch.tensor([0, 1, 0], dtype=torch.uint8)
    batch["action"][:] = 1
    batch["log_prob"][:] = 0.0
    losses = []
    for worth in (0.0, 1e3):
        module = case.network()
        with torch.no_grad():
            for name, x in module.named_parameters():
                if x.ndim == 1 and x.shape[0] == 3 and not name.startswith("policy."):
                    x[0] += worth
                    x[2] -= worth
        learned = case.learner(module, rate=0).update(batch, torch.Generator().manual_seed(0))
        losses.append(learned.metrics["loss_critic" if "loss_critic" in learned.metrics else "error"])
        assert learned.metrics.get("entropy", 0.0) == 0
        assert learned.metrics.get("loss_conservative", 0.0) == 0
        assert all(torch.isfinite(x).all() for x in module.parameters())
    assert losses[1] == pytest.approx(losses[0], rel=1e-5)


@cases([case for case in [*OF_TRANSITIONS, *DISTRIBUTED] if not draws(case)])
def test_each_priority_is_the_error_of_its_own_row(case: Case) -> None:
    """Case 13: however rows are shuffled and dealt out to minibatches, errors come back in the order of the rows."""
    rows = {name: x.numpy() for name, x in case.rows([(4, TRUNCATED), (3, TERMINATED), (4, LOST)]).items()}
    batch = {name: torch.from_numpy(x) for name, x in n_step(rows, 1, GAMMA).items()}
    batch["weight"][5] = 0
    order = torch.randperm(len(batch["weight"]), generator=torch.Generator().manual_seed(3))
    shuffled = {name: x[order] for name, x in batch.items()}

    def priorities(given: Batch, minibatch_rows: int, seed: int) -> Tensor:
        learner = case.learner(case.network(), rate=0, minibatch_rows=minibatch_rows, target_rate=1e-9)
        found = learner.update(given, torch.Generator().manual_seed(seed)).priorities
        assert found is not None
        return found

    wanted = priorities(batch, 64, 0)
    torch.testing.assert_close(priorities(batch, 10, 1), wanted)
    torch.testing.assert_close(priorities(shuffled, 10, 2), wanted[order])
    assert wanted[5] == 0
    assert len(set(wanted.tolist())) == len(wanted)


@cases([one for one in [*POLICIES, *POLICIES_OF_NUMBERS] if one.kind in ("impala", "appo") and one not in SWITCHED])
def test_ratios_of_any_size_are_clipped_as_the_paper_says(case: Case) -> None:
    """Case 5: random ratios on both sides of unequal clips, against V-trace's definition in plain Python."""
    clips = {"rho_clip": 1.4, "c_clip": 0.7, "trace_lambda": 0.95}
    lengths = [(5, TRUNCATED), (4, TERMINATED), (3, FULL)]
    batch = case.rows(lengths, seed=4)
    module = case.network()
    present, value = current(module, batch)
    drawn = torch.empty(len(present)).uniform_(-1.6, 1.1, generator=torch.Generator().manual_seed(1))
    batch["log_prob"] = torch.where(batch["weight"] > 0, present - drawn, 0.0)  # Ratios in [0.2, 3].
    targets = [x for lower, upper in spans(batch) for x in traced(batch, present, value, lower, upper, clips)]
    counted = batch["weight"] > 0
    error = value[counted].double() - torch.tensor(targets, dtype=torch.float64)
    _, learned = case.learned(batch, **clips)
    coefs = {"impala": 0.5, "appo": 1.0}  # Half the square, or the square.
    assert learned.metrics["loss_value"] == pytest.approx(float(coefs[case.kind] * error.square().mean()), rel=1e-4)


def current(module: torch.nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
    """Returns log-probability of the actions and value by the network, [N]."""
    spec = spec_of(module)
    with torch.no_grad():
        *dist_inputs, value = call(module, spec, [batch["observation"]], [])[0]
        return log_prob(spec.actions, dist_inputs, [batch["action"]], [None]), value


def spans(batch: Batch) -> list[tuple[int, int]]:
    """Returns the first row and the bootstrap row of each trajectory."""
    ends = torch.nonzero(batch["kind"] != STEP).squeeze(1).tolist()
    return list(zip([0, *(end + 1 for end in ends[:-1])], ends, strict=True))


def traced(batch: Batch, present: Tensor, value: Tensor, first: int, end: int, clips: dict[str, float]) -> list[float]:
    """Returns v_s = V(x_s) + Σ_t γ^(t-s) (Π c_i) ρ_t δ_t, equation 1 of the paper, of one trajectory."""
    v = value.double().tolist()
    v[end] *= int(batch["kind"][end]) != TERMINATED
    ratio = (present - batch["log_prob"]).double().exp().tolist()
    found = []
    for s in range(first, end):
        total = v[s]
        for t in range(s, end):
            product = 1.0
            for i in range(s, t):
                product *= GAMMA * clips["trace_lambda"] * min(clips["c_clip"], ratio[i])
            error = float(batch["reward"][t]) + GAMMA * v[t + 1] - v[t]
            total += product * min(clips["rho_clip"], ratio[t]) * error
        found.append(total)
    return found
