"""Steps of many sessions in one request."""

import base64
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

import orjson

from app.client.answer import JSON, Answer, read_answer
from app.client.errors import StepFailedError, UnreadableReplyError, failure_of
from app.client.game_client import GameClient
from app.client.outgoing import Outgoing
from app.client.session import Session
from app.client.steps import START, TICK, StepAnswer, StepItem


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a batch.

    Attributes:
      session: Whose it is.
      body: Bytes, a protobuf message or a JSON value; of a start its options.
      kind: ``start``, ``tick`` or ``stop``.
    """

    session: Session
    body: object = None
    kind: str = TICK


async def play_batch(client: GameClient, steps: Sequence[Step]) -> list[Answer | StepFailedError]:
    """Returns what became of each step, in their order; those of one session are played in order.

    Raises:
      StepFailedError: The request as a whole was refused.
      ServiceUnreachableError: No service answered in time.
      SessionClosedError: A step does not fit what its session is at; nothing was sent.
      ValueError: A session without an id does more than start; nothing was sent.
    """
    sessions = {step.session.order: step.session for step in steps}
    async with AsyncExitStack() as turns:
        for _, session in sorted(sessions.items()):  # In one order, so that two batches cannot wait for each other.
            await turns.enter_async_context(session.in_turn())
        for session in sessions.values():
            await session.settle()
        outgoing = _prepared(steps)
        items = [_item(step.session, sent) for step, sent in zip(steps, outgoing, strict=True)]
        try:
            answers = await client.steps(items)
        except StepFailedError:
            for step, sent in zip(steps, outgoing, strict=True):
                step.session.course.refused(sent)
            raise
        return [_outcome(*one) for one in zip(steps, outgoing, answers, strict=True)]


def _prepared(steps: Sequence[Step]) -> list[Outgoing]:
    prepared: list[Outgoing] = []
    try:
        for step in steps:
            prepared.append(_next(step))  # noqa: PERF401  # Those before one that fails are wanted.
    except BaseException:
        for step, sent in zip(steps, prepared, strict=False):  # None of them is sent.
            step.session.course.refused(sent)
        raise
    return prepared


def _next(step: Step) -> Outgoing:
    if not step.session.id and step.kind != START:
        raise ValueError("a session without an id is started before its ticks stand in a batch")
    return step.session.course.next(step.kind, step.body, plain=True)


def _item(session: Session, step: Outgoing) -> StepItem:
    item: StepItem = {"session": session.id, "kind": step.kind, "seq": step.seq}
    if not session.id:
        item["idempotency_key"] = session.once
    if session.settings.purpose is not None:
        item["purpose"] = session.settings.purpose.value
    if step.headers["content-type"] != JSON:
        item["body_b64"] = base64.b64encode(step.body).decode()
    elif step.body:
        item["body"] = orjson.Fragment(step.body)
    return item


def _outcome(step: Step, sent: Outgoing, answer: StepAnswer) -> Answer | StepFailedError:
    session = step.session
    if (fault := answer.get("error")) is not None:
        session.course.refused(sent)
        return failure_of(fault["code"], fault["message"])
    session.took(sent, answer["session"], answer.get("resumed_at"))
    try:
        return read_answer(answer, sent.seq, session.settings.reply_type)
    except UnreadableReplyError as error:
        return error
