import pytest

from app.sessions.ids import agent_of, game_of, number_of


@pytest.mark.parametrize(
    ("session", "game", "agent"),
    [
        ("g1-agent-red", "g1", "red"),
        ("g1-agent-red_2", "g1", "red_2"),
        ("a-agent-b-agent-c", "a-agent-b", "c"),
        ("g1-agent-red.12", "g1", "red"),
        ("line\nbreak-agent-x", "line\nbreak", "x"),
    ],
)
def test_a_trailing_agent_is_one_side_of_a_game(session: str, game: str, agent: str) -> None:
    assert (game_of(session), agent_of(session)) == (game, agent)


@pytest.mark.parametrize(
    "session",
    [
        "",
        "g1",
        "g1-agent-",
        "-agent-red",
        "g1-agent-red-2",
        "g1-agent-red.",
        "g1-agent-red.x",
        "g1-agent-.1",
        "g1-agent-red ",
        "g1-agent-red\n",
        "g1-agent",
    ],
)
def test_any_other_id_is_a_game_of_its_own(session: str) -> None:
    assert (game_of(session), agent_of(session)) == (session, None)


def test_the_number_stands_behind_the_agent() -> None:
    assert [number_of(session) for session in ("g-agent-player.2", "g-agent-player", "g.2", "g")] == [
        2,
        None,
        None,
        None,
    ]
