import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from app.algorithms.actor_critic import ActorCritic
from app.algorithms.anchors import Anchors, AnchorSettings, teacher_problem
from app.algorithms.learner import PolicyLearner
from app.algorithms.policy_batch import PolicyBatch
from app.algorithms.schedules import Line
from app.models.module import spec_of
from tests.algorithms.test_learner import SETTINGS, TICKS, batch_of, identity, parameters_of, shuffle
from tests.plain_stepper import plain_stepper
from tests.small_policy import Adder, Scorer, TablePolicy, small_policy

PLAIN = replace(SETTINGS, normalise=False, loss=ActorCritic(0.0, 0.0))
TEACHER = Line(2.0, 0.0, 4)


def learner_of(
    module: nn.Module, settings: AnchorSettings, teacher: nn.Module | None = None, rate: float = 0.5
) -> PolicyLearner:
    stepper = plain_stepper(module, torch.optim.SGD(module.parameters(), rate), 1e9)
    return PolicyLearner(module, spec_of(module), stepper, replace(PLAIN, anchors=settings), 1, identity, teacher)


def chances(module: nn.Module) -> list[float]:
    found: list[float] = module(torch.ones(1, 2)).dist_inputs.softmax(-1)[0].tolist()
    return found


def terms(student: Sequence[float], other: nn.Module, settings: AnchorSettings, updates: int) -> dict[str, Tensor]:
    """Returns the terms of the four rows of the batch that count."""
    policy = TablePolicy(student)
    teacher = None if settings.teacher is None else other
    anchors = Anchors(policy if settings.teacher else other, spec_of(policy), teacher, settings)
    played = PolicyBatch(policy, spec_of(policy), batch_of(TICKS, policy), None)
    return anchors.terms(anchors.answers(played), played, played.said(torch.arange(played.units)), updates)


def test_a_teachers_divergence_is_that_of_the_student_from_it() -> None:
    got = terms([0.0, 0.0], TablePolicy([0.0, math.log(3)]), AnchorSettings(TEACHER), updates=1)
    divergence = 0.25 * math.log(0.5) + 0.75 * math.log(1.5)  # KL((1/4, 3/4) ‖ (1/2, 1/2))
    assert got["teacher_kl"].item() == pytest.approx(4 * divergence, rel=1e-5)
    assert got["anchor"].item() == pytest.approx(1.5 * 4 * divergence, rel=1e-5)  # A quarter of the way from 2 to 0.


def test_the_first_policys_divergence_is_that_of_it_from_the_present_one() -> None:
    got = terms([0.0, 0.0], TablePolicy([0.0, math.log(3)]), AnchorSettings(first_coef=0.1), updates=7)
    divergence = 0.5 * math.log(2) + 0.5 * math.log(0.5 / 0.75)  # KL((1/2, 1/2) ‖ (1/4, 3/4))
    assert got["first_kl"].item() == pytest.approx(4 * divergence, rel=1e-5)
    assert got["anchor"].item() == pytest.approx(0.1 * 4 * divergence, rel=1e-5)


def test_a_student_without_rewards_becomes_its_teacher_and_leaves_it_as_it_is() -> None:
    student, teacher = small_policy(), TablePolicy([2.0, -1.0])
    for x in student.critic.parameters():
        nn.init.zeros_(x)  # Nothing is expected and nothing comes.
    batch = batch_of([tick._replace(reward=0.0) for tick in TICKS], student)
    learner = learner_of(student, AnchorSettings(Line(1.0, 1.0, 1)), teacher)
    for update in range(60):
        metrics = learner.update(batch, shuffle(update)).metrics
    assert metrics["teacher_kl"] < 0.02
    assert chances(student)[0] == pytest.approx(chances(teacher)[0], abs=0.05)
    assert teacher.logits.tolist() == [2.0, -1.0]
    assert teacher.logits.requires_grad


def test_once_its_weight_is_gone_a_teacher_changes_nothing() -> None:
    plain, taught = small_policy(), small_policy()
    batch = batch_of(TICKS, plain)
    learner = learner_of(taught, AnchorSettings(TEACHER), TablePolicy([2.0, -1.0]))
    for update in range(4):
        learner.update(batch, shuffle(update))
    plain.load_state_dict(taught.state_dict())
    learner.update(batch, shuffle())
    learner_of(plain, AnchorSettings()).update(batch, shuffle())
    torch.testing.assert_close(parameters_of(taught), parameters_of(plain))


def test_a_policy_that_is_kept_near_its_first_one_goes_less_far() -> None:
    far = []
    for coef in (1e-9, 1.0, 10.0):
        module = small_policy()
        learner = learner_of(module, AnchorSettings(first_coef=coef), rate=0.05)
        for update in range(60):
            metrics = learner.update(batch_of(TICKS, module), shuffle(update)).metrics
        far.append(metrics["first_kl"])
    assert far[0] > 1.3 * far[1] > 5 * far[2] > 0


def test_a_run_that_goes_on_keeps_its_first_policy_and_its_teachers_weight() -> None:
    settings, teacher = AnchorSettings(TEACHER, 0.3), TablePolicy([2.0, -1.0])
    whole, cut = small_policy(), small_policy()
    batch = batch_of(TICKS, whole)
    learner = learner_of(whole, settings, teacher)
    learner.update(batch, shuffle(0))
    cut.load_state_dict(whole.state_dict())
    restored = learner_of(cut, settings, teacher)  # Its present policy is no longer the first one.
    restored.load_state_dict(learner.state_dict())
    assert int(restored.state_dict()["updates"]) == 1
    for each in (learner, restored):
        each.update(batch, shuffle(1))
    assert torch.equal(parameters_of(whole), parameters_of(cut))


def test_without_anchors_a_learner_keeps_nothing() -> None:
    assert learner_of(small_policy(), AnchorSettings()).state_dict() == {}


@pytest.mark.parametrize(
    ("teacher", "student", "problem"),
    [
        (Scorer(), small_policy(), "the teacher is no policy"),
        (Adder(), Adder(), "a model that carries a state"),
        (small_policy(actions=3), small_policy(), "the teacher's action is .*choices=3.* allowed is .*choices=2"),
        (small_policy(inputs=3), small_policy(), "the teacher's observation is"),
    ],
)
def test_who_cannot_teach_is_refused(teacher: nn.Module, student: nn.Module, problem: str) -> None:
    found = teacher_problem(spec_of(teacher), spec_of(student))
    assert found is not None
    with pytest.raises(ValueError, match=problem):
        Anchors(student, spec_of(student), teacher, AnchorSettings(TEACHER))


def test_a_weight_without_a_teacher_is_refused() -> None:
    with pytest.raises(ValueError, match="got a weight alone"):
        learner_of(small_policy(), AnchorSettings(TEACHER))
    with pytest.raises(ValueError, match="got a teacher alone"):
        learner_of(small_policy(), AnchorSettings(), small_policy())
