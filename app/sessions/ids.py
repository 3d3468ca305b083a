"""Reads session ids."""

import re

from app.types import SessionId

_AGENT = re.compile(r"(?P<game>.+)-agent-(?P<agent>[A-Za-z0-9_]+)", re.DOTALL)


def game_of(session: SessionId) -> str:
    """Returns the game that a session is one side of; a session without an agent's name is a game of its own."""
    match = _AGENT.fullmatch(session)
    return match["game"] if match else session


def agent_of(session: SessionId) -> str | None:
    """Returns the agent named at the end of the id, ``<game>-agent-<name>``; None where none is named."""
    match = _AGENT.fullmatch(session)
    return match["agent"] if match else None
