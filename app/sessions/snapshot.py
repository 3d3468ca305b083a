"""Games as values: what goes to another replica, or to the store that outlives this one."""

from dataclasses import dataclass
from typing import Any, cast

from app.errors import SnapshotError, TreeError
from app.sessions.game import Game
from app.sessions.session import Session
from app.sessions.table import SessionTable
from app.types import Purpose, SessionId, Version
from app.wire.steps import StepReply
from app.wire.trees import Tree, pack, unpack


@dataclass(frozen=True, slots=True)
class SavedSession:
    """A session as it was after a step."""

    session: SessionId
    game: str
    seq: int
    """Steps that it had answered."""
    data: bytes
    """All that its next step depends on, packed."""


def save_session(session: Session) -> SavedSession:
    """Returns the snapshot of a session; nobody may be playing it.

    Raises:
      SnapshotError: Its agent holds something that cannot be written; the message says what.
    """
    state: Tree = {
        "id": session.id,
        "game": session.game.id,
        "purpose": str(session.purpose),
        "key": session.key,
        "seq": session.seq,
        "resumed_at": session.resumed_at,
        "started": reply_state(session.started),
        "replies": [reply_state(reply) for reply in session.replies.all()],
        "ticked": session.id in session.game.frame.ticked,
        "delta": session.delta.save() if session.delta.used else None,
    }
    try:
        data = pack({"session": state, "agent": session.agent.state_dict()})
    except TreeError as error:
        raise SnapshotError(f"the agent of session {session.id!r} cannot be written down: {error}") from error
    return SavedSession(session.id, session.game.id, session.seq, data)


async def restore_session(table: SessionTable, game: Game, data: bytes, *, crashed: bool) -> Session:
    """Enters a session into a game of the table, to go on where the snapshot was made.

    Args:
      table: The table.
      game: The session's game, held by the table's replica.
      data: Data of ``SavedSession``.
      crashed: Whether ticks may have been played since then that nobody knows.

    Raises:
      SnapshotError: The data cannot be read, or the agent does not take its state.
    """
    try:
        packed = cast("dict[str, Any]", unpack(data))
        state = packed["session"]
        session = table.make(state["id"], game, Purpose(state["purpose"]))
        session.resume(state["seq"])
        session.key = state["key"]
        session.started = reply_of_state(session.id, state["started"])
        for reply in state["replies"]:
            session.replies.add(reply_of_state(session.id, reply))
        session.resumed_at = state["seq"] if crashed else state["resumed_at"]
        session.delta.load(state["delta"])
        if state["ticked"]:
            game.frame.ticked.add(session.id)
        await session.agent.load_state_dict(packed["agent"])
    except Exception as error:
        raise SnapshotError(f"a session of game {game.id!r} cannot be restored: {error}") from error
    table.enter(session)
    return session


def save_board(game: Game) -> bytes:
    """Returns the values of the game's present frame, but for those that cannot be written."""
    kept: dict[str, Tree] = {}
    for name in game.frame.names():
        value = cast("Tree", game.frame.get(name))
        try:
            pack(value)
        except TreeError:
            continue
        kept[name] = value
    return pack(kept)


def restore_board(game: Game, data: bytes) -> None:
    """Puts the values of ``save_board``.

    Raises:
      TreeError: The data cannot be read.
    """
    for name, value in cast("dict[str, Tree]", unpack(data)).items():
        game.frame.put(name, value)


def reply_state(reply: StepReply) -> Tree:
    """Returns a reply as it stands in a snapshot."""
    version = None if reply.version is None else str(reply.version)
    return [reply.seq, reply.body, reply.is_json, version, reply.resumed_at]


def reply_of_state(session: SessionId, state: list[Any]) -> StepReply:
    """Returns the reply of ``reply_state``."""
    seq, body, is_json, version, resumed_at = state
    return StepReply(
        session,
        body,
        seq,
        None if version is None else Version.parse(version),
        resumed_at,
        is_json=is_json,
    )
