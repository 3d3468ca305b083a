import numpy as np
import pytest
import torch
from torch import Tensor

from app.games.arena.game import FIRST_SKILL, MAX_ACTIONS, Arena, Setup
from app.games.arena.messages import tick_of
from app.games.arena.model import PRESENT, ArenaPolicy, build
from app.games.arena.observation import ROWS, UNITS, observe
from app.models.module import PolicyOutput, build_module


def policy() -> ArenaPolicy:
    """Returns a policy whose heads are not nearly zero, so that what its inputs do is seen."""
    torch.manual_seed(0)
    made = build(layers=2)
    torch.nn.init.normal_(made.moves.weight)
    torch.nn.init.normal_(made.query.weight)
    return made.eval()


def observations(count: int = 16) -> Tensor:
    seen = []
    for seed in range(count):
        rng = np.random.default_rng(seed)
        seen.append(observe(tick_of(Arena(Setup.draw(rng), rng), [0])).observation)
    return torch.from_numpy(np.stack(seen))


def same(one: PolicyOutput, other: PolicyOutput) -> bool:
    return torch.equal(one.dist_inputs, other.dist_inputs) and torch.equal(one.value, other.value)


def test_the_factory_returns_a_module_that_fits_its_spec() -> None:
    module = build_module("app.games.arena.model:build", {"hidden": 16, "heads": 4}, seed=1)
    logits, value, _ = module(observations(3))
    assert (logits.shape, value.shape) == ((3, MAX_ACTIONS), (3,))
    with pytest.raises(ValueError, match="hidden is 10 and heads 4"):
        build(hidden=10, heads=4)


@pytest.mark.parametrize("junk", [1.0, -1e30, float("inf"), float("nan")])
def test_absent_rows_have_no_influence_at_all(junk: float) -> None:
    seen = observations()
    spoiled = torch.where(seen[..., PRESENT, None] > 0, seen, junk)
    spoiled[..., PRESENT] = seen[..., PRESENT]
    assert not torch.equal(seen, spoiled)
    with torch.inference_mode():
        assert same(policy()(seen), policy()(spoiled))


def test_absent_rows_have_no_gradient_and_spoil_none() -> None:
    seen = observations().requires_grad_()
    model = policy()
    logits, value, _ = model(seen)
    (logits.sum() + value.sum()).backward()
    assert seen.grad is not None
    absent = seen[..., PRESENT] == 0
    assert not seen.grad[absent].any()
    assert seen.grad[~absent].any(dim=-1).all()
    assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)


def test_a_present_row_has_influence() -> None:
    seen = observations()
    moved = seen.clone()
    moved[:, 0, 4] += 0.5
    with torch.inference_mode():
        assert (policy()(seen).value != policy()(moved).value).all()


def test_the_order_of_units_does_not_matter() -> None:
    seen, order = observations(), torch.tensor([5, 2, 0, 4, 1, 3])
    shuffled = torch.cat([seen[:, order], seen[:, UNITS:]], dim=1)
    with torch.inference_mode():
        one, other = policy()(seen), policy()(shuffled)
    torch.testing.assert_close(one.dist_inputs, other.dist_inputs)
    torch.testing.assert_close(one.value, other.value)


def test_the_logits_of_skills_follow_their_rows() -> None:
    seen, order = observations(), torch.tensor([2, 0, 3, 1])
    shuffled = torch.cat([seen[:, :UNITS], seen[:, UNITS + order]], dim=1)
    with torch.inference_mode():
        one, other = policy()(seen), policy()(shuffled)
    torch.testing.assert_close(one.dist_inputs[:, :FIRST_SKILL], other.dist_inputs[:, :FIRST_SKILL])
    torch.testing.assert_close(one.dist_inputs[:, FIRST_SKILL + order], other.dist_inputs[:, FIRST_SKILL:])
    torch.testing.assert_close(one.value, other.value)


def test_the_logit_of_an_absent_skill_is_zero() -> None:
    seen = observations()
    with torch.inference_mode():
        skills = policy()(seen).dist_inputs[:, FIRST_SKILL:]
    absent = seen[:, UNITS:, PRESENT] == 0
    assert not skills[absent].any()
    assert skills[~absent].all()


def test_an_observation_without_any_row_is_answered_with_finite_numbers() -> None:
    model = policy()
    logits, value, _ = model(torch.zeros(2, ROWS, observations(1).shape[-1]))
    (logits.sum() + value.sum()).backward()
    assert torch.isfinite(logits).all()
    assert torch.isfinite(value).all()
    assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)


def test_a_rows_answer_does_not_depend_on_its_batch() -> None:
    seen, model = observations(), policy()
    with torch.inference_mode():
        together, alone = model(seen), model(seen[3:4])
    torch.testing.assert_close(together.dist_inputs[3:4], alone.dist_inputs)


def test_the_first_policy_is_nearly_uniform() -> None:
    torch.manual_seed(0)
    with torch.inference_mode():
        assert build()(observations()).dist_inputs.abs().max() < 0.1
