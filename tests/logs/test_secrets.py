import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.logs.secrets import SHORTEST, Secrets


@pytest.mark.parametrize(
    ("text", "covered"),
    [
        ("token=abc123, tick 4", "token=***, tick 4"),
        ('{"secret": "abc 123", "x": 1}', '{"secret": "*** 123", "x": 1}'),
        ("Authorization: Bearer abc.def", "Authorization: Bearer ***"),
        ("Password = 'x y'", "Password = '*** y'"),
        ("https://me:pass@mlflow.example/x", "https://***@mlflow.example/x"),
        ("mail to a@b.example", "mail to a@b.example"),
        ("refused: key=team-a reason=quota", "refused: key=team-a reason=quota"),
        ("the token is missing", "the token is missing"),
    ],
)
def test_what_is_named_like_a_secret_is_covered_and_nothing_else(text: str, covered: str) -> None:
    assert Secrets().covered(text) == covered


def test_values_of_the_environment_are_secret_by_their_names() -> None:
    secrets = Secrets()
    secrets.hide_environment({"RAY_AUTH_TOKEN": "abcdefgh", "MLFLOW_TRACKING_PASSWORD": "ijklmnop", "HOME": "/home/me"})
    assert secrets.covered("abcdefgh ijklmnop /home/me") == "*** *** /home/me"


def test_a_tree_is_covered_by_the_names_of_its_keys_and_by_what_is_known() -> None:
    secrets = Secrets()
    secrets.hide("abcdefgh")
    tree = {
        "uri": "http://me:pass@host/x",
        "kwargs": {"api_token": "t", "password": "", "require_token": True, "values": ["is abcdefgh", 3]},
        "keys_env": "GAME_KEYS",
    }
    assert secrets.covered_tree(tree) == {
        "uri": "http://***@host/x",
        "kwargs": {"api_token": "***", "password": "", "require_token": True, "values": ["is ***", 3]},
        "keys_env": "GAME_KEYS",
    }


def test_short_texts_are_no_secrets() -> None:
    secrets = Secrets()
    secrets.hide("a" * (SHORTEST - 1), None, "")
    assert secrets.covered("aaaaaaa") == "aaaaaaa"


@given(
    st.lists(st.text(st.characters(codec="utf-8"), min_size=SHORTEST, max_size=20), min_size=1, max_size=5), st.text()
)
def test_no_known_secret_is_left_whatever_it_is(values: list[str], around: str) -> None:
    secrets = Secrets()
    secrets.hide(*values)
    covered = secrets.covered(around.join(["", *values, ""]))
    assert not any(value in covered for value in values if "*" not in value)
