"""An address that other machines reach is refused without keys, unless the config says so."""

from pathlib import Path

import pytest

from app.config.access import is_loopback
from app.config.commands import check
from app.config.load import load
from app.errors import ConfigError

RL = Path(__file__).parents[2] / "configs" / "rl.yaml"
PLAIN_AGENT = "agents.player.factory=app.plugins:load_plugin"


def told(*overrides: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load(RL, overrides)
    first, second = str(caught.value).splitlines()
    assert first == f"{RL}: 1 problem"
    return second.strip()


@pytest.mark.parametrize("host", ["0.0.0.0", "10.0.0.1", "'::'", "''", "game-1.local"])  # noqa: S104  # Refused.
def test_an_open_address_without_keys_is_refused_with_actor_host_and_what_to_set(host: str) -> None:
    line = told(f"actors.main.host={host}")
    assert line.startswith("actors.main: host '")
    assert host.strip("'") in line
    for way in ("access.keys_file", "access.keys_env", "access.allow_open: true"):
        assert way in line


@pytest.mark.parametrize("access", ["{keys_file: /run/keys.yaml}", "{keys_env: GAME_KEYS}", "{allow_open: true}"])
def test_an_open_address_is_served_with_keys_or_where_the_config_says_so(access: str) -> None:
    actor = load(RL, ["actors.main.host=0.0.0.0", f"actors.main.access={access}"]).actors["main"]
    assert actor.host == "0.0.0.0"  # noqa: S104  # As it says.


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_a_loopback_address_needs_no_keys(host: str) -> None:
    assert is_loopback(host)
    assert not load(RL, [f"actors.main.host={host}"]).actors["main"].access.guarded


@pytest.mark.parametrize(
    ("access", "place", "message"),
    [
        ("{keys_file: keys.yaml}", "actors.main.access.keys_file", "got 'keys.yaml', allowed: an absolute path"),
        ("{keys_env: 'A B'}", "actors.main.access.keys_env", "got 'A B', allowed: text that matches"),
        ("{keys_file: /k, keys_env: K}", "actors.main.access", "both set, allowed: one of them"),
        ("{require_token: true}", "actors.main.access", "there are no keys, allowed: with keys_file or keys_env"),
    ],
)
def test_an_access_that_cannot_be_meant_is_refused(access: str, place: str, message: str) -> None:
    line = told(f"actors.main.access={access}")
    assert line.startswith(f"{place}: ")
    assert message in line


def test_the_check_command_shows_it_and_reads_the_keys(tmp_path: Path) -> None:
    def checked(*overrides: str) -> str:
        try:
            check(RL, [PLAIN_AGENT, *overrides], cpus=64)
        except ConfigError as error:
            return str(error)
        return "OK"

    assert "nobody needs a key" in checked("actors.main.host=0.0.0.0")
    keys = tmp_path / "keys.yaml"
    assert "cannot be read: No such file" in checked(f"actors.main.access.keys_file={keys}")
    keys.write_text("[{name: a, key: short}]")
    assert "keys.0: got a key of 5 characters" in checked(f"actors.main.access.keys_file={keys}")
    keys.write_text("[{name: a, key: short, secret: a-secret-that-is-long}]")
    assert checked(f"actors.main.access.keys_file={keys}") == "OK"


@pytest.mark.parametrize("origin", ["https://play.example", "http://localhost:8080", "http://[::1]:8080"])
def test_origins_of_web_pages_are_taken_as_browsers_send_them(origin: str) -> None:
    access = load(RL, [f"actors.main.access={{origins: ['{origin}']}}"]).actors["main"].access
    assert access.origins == (origin,)


@pytest.mark.parametrize("origin", ["play.example", "https://play.example/", "https://Play.example", "*", "null"])
def test_what_no_browser_sends_as_an_origin_is_refused(origin: str) -> None:
    assert told(f"actors.main.access={{origins: ['{origin}']}}").startswith("actors.main.access.origins.0")
