"""Reads session ids."""

import re

from app.types import SessionId

_AGENT = re.compile(r"(?P<game>.+)-agent-(?P<agent>[A-Za-z0-9_]+)(\.(?P<number>[0-9]+))?", re.DOTALL)


def game_of(session: SessionId) -> str:
    """Returns the game that a session is one side of; a session without an agent's name is a game of its own."""
    match = _AGENT.fullmatch(session)
    return match["game"] if match else session


def agent_of(session: SessionId) -> str | None:
    """Returns the agent named at the end of the id; None where none is named.

    The end is ``-agent-<name>``, with ``.<number>`` behind it for further sessions of one agent in the same game.
    """
    match = _AGENT.fullmatch(session)
    return match["agent"] if match else None


def number_of(session: SessionId) -> int | None:
    """Returns the number at the end of the id; None where there is none."""
    match = _AGENT.fullmatch(session)
    return int(match["number"]) if match and match["number"] is not None else None
