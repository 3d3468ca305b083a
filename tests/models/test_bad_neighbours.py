"""One bad question of a batch, and callers that give up: nobody else notices, whatever runs the network and where."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from app.errors import AgentError
from app.models.batching import BatchLimits
from app.models.distributions.categorical import Categorical
from app.models.model import Model
from app.models.module import PolicyOutput
from app.models.onnx_engine import OnnxEngine
from app.models.placement import LocalModel, RemoteModel
from app.models.question import GREEDY, Decision, Question
from app.models.spec import ArraySpec, ModelSpec
from app.models.torch_engine import TorchEngine
from tests.models.places import PLACES, Store

KINDS = 4
CALLS = 2_000
CANCELLED = 0.3

pytestmark = pytest.mark.export


class Fragile(nn.Module):
    """Values an observation by its logarithm, and knows four kinds; remembers what it has seen."""

    def __init__(self) -> None:
        super().__init__()
        self.spec = ModelSpec(
            {"kind": ArraySpec((), "int64"), "worth": ArraySpec(())}, Categorical(3), {"log": ArraySpec((1,))}
        )
        self.kinds = nn.Embedding(KINDS, 3)

    def forward(self, observation: dict[str, Tensor], state: dict[str, Tensor]) -> PolicyOutput:
        worth = torch.log(observation["worth"])
        return PolicyOutput(self.kinds(observation["kind"]), worth, {"log": state["log"] + worth[:, None]})


def fragile(seed: int) -> Fragile:
    torch.manual_seed(seed)
    return Fragile()


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("graphs")


@asynccontextmanager
async def placed(place: str, engine: str, graphs: Path) -> AsyncIterator[LocalModel | RemoteModel]:
    made = TorchEngine(fragile(0)) if engine == "torch" else OnnxEngine(fragile(0), graphs)
    async with PLACES[place](made, Store(fragile), BatchLimits()) as model:
        assert isinstance(model, LocalModel | RemoteModel)
        yield model


def question(kind: int = 1, worth: float = 1.0) -> Question:
    return Question({"kind": np.array(kind), "worth": np.array(worth, np.float32)}, GREEDY)


async def decide(model: Model, asked: Question) -> Decision:
    return await model.decide(asked)


every_place = pytest.mark.parametrize("place", PLACES)
every_engine = pytest.mark.parametrize("engine", ["torch", "onnx"])


@every_place
@every_engine
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (question(kind=7), "did not answer: (IndexError: index out of range|.*Gather)"),
        (question(worth=-1), "its value nan|next state log is not finite"),
        (question(worth=0), "its value -inf|next state log is not finite"),
    ],
)
async def test_one_bad_question_of_eight_is_told_its_error_and_the_others_are_answered(
    place: str, engine: str, graphs: Path, bad: Question, message: str
) -> None:
    asked = [question(at % KINDS, np.exp(at)) for at in range(8)]
    asked[5] = bad
    async with placed(place, engine, graphs) as model:
        outcomes = await asyncio.gather(*(decide(model, one) for one in asked), return_exceptions=True)
        assert model.queue.batches == 1
        assert (await model.decide(question(worth=np.e))).value == pytest.approx(1)
    error = outcomes.pop(5)
    assert isinstance(error, AgentError)
    with pytest.raises(AgentError, match=message):
        raise error
    values = [outcome.value for outcome in outcomes if isinstance(outcome, Decision)]
    assert values == pytest.approx([0, 1, 2, 3, 4, 6, 7], abs=1e-5)


@every_place
@every_engine
async def test_a_batch_of_ones_own_is_refused_with_the_number_of_the_row_that_fails(
    place: str, engine: str, graphs: Path
) -> None:
    kinds, worths = np.array([0, 1, 9, 2]), np.ones(4, np.float32)
    async with placed(place, engine, graphs) as model:
        bad = model.forward({"kind": kinds, "worth": worths})
        good = model.forward({"kind": kinds[:2], "worth": worths[:2]})
        refused, answered = await asyncio.gather(bad, good, return_exceptions=True)
    assert isinstance(refused, AgentError)
    assert "row 2 of the batch" in str(refused)
    assert not isinstance(answered, BaseException)
    assert answered.outputs["value"].tolist() == [0, 0]


@every_place
@every_engine
async def test_callers_that_give_up_hurt_nobody_and_leave_nothing_waiting(
    place: str, engine: str, graphs: Path
) -> None:
    source = random.Random(0)  # noqa: S311  # A test, not a secret.
    gives_up = [source.random() < CANCELLED for _ in range(CALLS)]

    async def give_up(task: asyncio.Task[Decision]) -> None:
        for _ in range(source.randrange(12)):
            await asyncio.sleep(0)
        task.cancel()

    async def call(at: int) -> Decision:
        for _ in range(source.randrange(8)):
            await asyncio.sleep(0)
        return await model.decide(question(at % KINDS, np.exp(at % 5)))

    async with placed(place, engine, graphs) as model:
        calls = [asyncio.create_task(call(at)) for at in range(CALLS)]
        leaving = [give_up(task) for task, gone in zip(calls, gives_up, strict=True) if gone]
        outcomes = (await asyncio.gather(*calls, *leaving, return_exceptions=True))[:CALLS]
        assert (await model.decide(question(worth=np.e))).value == pytest.approx(1)
        assert model.queue.waiting_rows == 0
    cancelled = sum(isinstance(outcome, asyncio.CancelledError) for outcome in outcomes)
    assert CALLS / 10 < cancelled <= sum(gives_up)
    for at, (outcome, gone) in enumerate(zip(outcomes, gives_up, strict=True)):
        if not gone:
            assert isinstance(outcome, Decision)
            assert outcome.value == pytest.approx(at % 5, abs=1e-5)
