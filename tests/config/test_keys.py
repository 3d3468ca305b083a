"""What may stand in a keys file, and that what is wrong with it is told without telling a secret."""

import json
from pathlib import Path

import pytest

from app.config.access import AccessConfig
from app.config.keys import MAX_FILE_BYTES, read_keys
from app.errors import ConfigError
from app.types import Purpose

SECRET = "swordfish-swordfish"  # noqa: S105  # Of these tests alone.
GOOD = f"[{{name: a, key: team-a, secret: {SECRET}}}]"


def access(folder: Path, text: str | bytes, *, require_token: bool = False) -> AccessConfig:
    file = folder / "keys.yaml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return AccessConfig(keys_file=str(file), require_token=require_token)


def told(folder: Path, text: str | bytes, *, require_token: bool = False) -> str:
    with pytest.raises(ConfigError) as caught:
        read_keys(access(folder, text, require_token=require_token))
    chain: list[BaseException] = [caught.value]
    while (
        before := chain[-1].__cause__ or (None if chain[-1].__suppress_context__ else chain[-1].__context__)
    ) is not None:
        chain.append(before)
    assert not any("swordfish" in str(error) for error in chain), "a log with the traceback would hold the secret"
    return str(caught.value)


def test_a_key_needs_a_name_and_a_key_and_has_the_rest_by_default(tmp_path: Path) -> None:
    (key,) = read_keys(access(tmp_path, "- name: a\n  key: a-key-that-is-enough-alone\n"))
    assert (key.name, key.key.get_secret_value(), key.secret) == ("a", "a-key-that-is-enough-alone", None)
    assert (key.purposes, key.needs_token, key.static_token) == (tuple(Purpose), False, False)
    assert key.quota.model_dump() == {"max_sessions": None, "steps_per_s": None, "burst_steps": None}


def test_a_secret_makes_tokens_necessary_unless_the_entry_says_otherwise(tmp_path: Path) -> None:
    (key,) = read_keys(access(tmp_path, GOOD))
    assert key.needs_token
    text = f"[{{name: a, key: a-key-that-is-enough-alone, secret: {SECRET}, require_token: false}}]"
    (key,) = read_keys(access(tmp_path, text))
    assert not key.needs_token


def test_json_does_as_well_and_so_does_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = json.dumps([{"name": "a", "key": "team-a", "secret": SECRET, "purposes": ["play"]}])
    monkeypatch.setenv("GAME_KEYS", text)
    assert read_keys(access(tmp_path, text)) == read_keys(AccessConfig(keys_env="GAME_KEYS"))


def test_an_empty_list_is_no_keys_but_an_empty_file_is_a_mistake(tmp_path: Path) -> None:
    assert read_keys(access(tmp_path, "[]")) == ()
    assert "allowed: a list of keys, [] for none" in told(tmp_path, "")


def test_without_a_file_or_variable_there_are_no_keys() -> None:
    assert read_keys(AccessConfig()) == ()
    assert not AccessConfig().guarded


def test_secrets_are_not_shown_by_what_was_read(tmp_path: Path) -> None:
    assert "swordfish" not in repr(read_keys(access(tmp_path, GOOD)))


@pytest.mark.parametrize(
    ("entry", "place", "message"),
    [
        ("{name: A, key: team-a, secret: S}", "keys.0.name", "got 'A', allowed: text that matches"),
        ("{key: team-a, secret: S}", "keys.0.name", "is missing"),
        ("{name: a, secret: S}", "keys.0.key", "is missing"),
        ("{name: a, key: 'S S', secret: S}", "keys.0.key", "allowed: 1 to 256 printable ASCII characters"),
        ("{name: a, key: [S], secret: S}", "keys.0.key", "got a list"),
        ("{name: a, key: team-a, secret: {S: S}}", "keys.0.secret", "got a dict"),
        ("{name: a, key: team-a, secret: swordfish}", "keys.0.secret", "got 9 characters, allowed: at least 16"),
        ("{name: a, key: team-a, secret: 12345678901234567}", "keys.0.secret", "got a int, allowed: a valid string"),
        ("{name: a, key: swordfish}", "keys.0", "got a key of 9 characters without tokens, allowed: at least 16"),
        ("{name: a, key: swordfish, secret: S, require_token: false}", "keys.0", "got a key of 9 characters"),
        ("{name: a, key: S, require_token: true}", "keys.0", "without a secret, allowed: with one"),
        ("{name: a, key: S, static_token: true}", "keys.0", "without a secret, allowed: with one"),
        ("{name: a, key: team-a, secret: S, purposes: [trian]}", "keys.0.purposes.0", "got 'trian', allowed: 'train',"),
        ("{name: a, key: team-a, secret: S, purposes: []}", "keys.0.purposes", "at least 1"),
        ("{name: a, key: team-a, secret: S, purpose: play}", "keys.0.purpose", "did you mean 'purposes'?"),
        (
            "{name: a, key: team-a, secret: S, quota: {steps_per_s: 0}}",
            "keys.0.quota.steps_per_s",
            "got 0, allowed: gr",
        ),
        ("{name: a, key: team-a, secret: S, quota: {steps_per_s: .inf}}", "keys.0.quota.steps_per_s", "finite"),
        ("{name: a, key: team-a, secret: S, quota: {max_sessions: 0}}", "keys.0.quota.max_sessions", "got 0"),
        ("S", "keys.0", "got a str, allowed: a mapping"),
        ("[S]", "keys.0", "got a list, allowed: a mapping"),
    ],
)
def test_a_wrong_entry_tells_file_place_what_was_got_and_what_is_allowed(
    tmp_path: Path, entry: str, place: str, message: str
) -> None:
    first, second = told(tmp_path, f"[{entry.replace('S', SECRET)}]").splitlines()
    assert first == f"{tmp_path / 'keys.yaml'}: 1 problem"
    assert second.startswith(f"  {place}: ")
    assert message in second


def test_names_and_keys_are_there_once(tmp_path: Path) -> None:
    pairs = (("a", "k"), ("a", "l"), ("b", "k"))
    text = json.dumps([{"name": name, "key": key, "secret": SECRET} for name, key in pairs])
    _, name, key = told(tmp_path, text).splitlines()
    assert name == "  keys.1.name: got 'a' as in keys.0, allowed: a name of its own"
    assert key == "  keys.2.key: is the same as in keys.0, allowed: a key of its own"


def test_require_token_holds_for_every_entry(tmp_path: Path) -> None:
    assert read_keys(access(tmp_path, GOOD, require_token=True))
    text = f"[{{name: a, key: k, secret: {SECRET}}}, {{name: b, key: a-key-that-is-enough-alone}}]"
    assert "keys.1: needs no token, allowed: keys with a secret" in told(tmp_path, text, require_token=True)


@pytest.mark.parametrize(
    "text",
    [
        f"- name: a\n  key: @{SECRET}\n",
        f"- name: a\n  key: *{SECRET}\n",
        f"- name: a\n  key: !{SECRET} x\n",
        f"- name: a\n  {SECRET}: 1\n  {SECRET}: 2\n",
        f"- name: a\n  key: '{SECRET}\n",
        f'[{{"name": "a", "key": "{SECRET}"',
        f"- name: a\n  key: {SECRET}\x00\n",
        "[" * 20_000,
    ],
)
def test_text_that_is_no_yaml_is_told_by_its_line_alone(tmp_path: Path, text: str) -> None:
    assert "not valid YAML or JSON; allowed: a list of keys" in told(tmp_path, text)


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "must be UTF-8 text" in told(tmp_path, b"[{name: \xff}]")
    assert f"larger than the {MAX_FILE_BYTES} bytes" in told(tmp_path, b" " * (MAX_FILE_BYTES + 1))
    assert "allowed: a list of keys" in told(tmp_path, f"{SECRET}: 1")
    with pytest.raises(ConfigError, match=r"/none: cannot be read: No such file"):
        read_keys(AccessConfig(keys_file=str(tmp_path / "none")))
    monkeypatch.delenv("GAME_KEYS", raising=False)
    with pytest.raises(ConfigError, match="environment variable GAME_KEYS: is not set in this process"):
        read_keys(AccessConfig(keys_env="GAME_KEYS"))
