"""``sparring bridge``: processes beside the game that speak the protocols of others."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from app.bridges.serving import Serve, Settings, run_bridge
from app.client.commands import GAME_PORT_URL
from app.client.seats import read_seats
from app.errors import ConfigError, SparringError
from app.extras import missing
from app.types import Purpose

bridge = typer.Typer(
    name="bridge", help="Lets games that were written for other trainers play with the service.", no_args_is_help=True
)

Url = Annotated[str, typer.Option(help="The service's game port.")]
Host = Annotated[str, typer.Option(help="Address that games connect to; 0.0.0.0 for other machines.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port that games connect to; 0 takes a free one.")]
Why = Annotated[Purpose, typer.Option(help="Why the games are played; only train is learned from.")]
_NAMES = typer.Option(help="JSON: their parameters to ours, or constants; default: they have ours.")
_PICKLED = typer.Option(help="Pickled AlgorithmConfig that clients may ask for; default: none.")
Key = Annotated[str | None, typer.Option(help="Key, where the service asks for one; default: none.")]
Secret = Annotated[str | None, typer.Option(envvar="SPARRING_SECRET", help="Secret of the key; default: none.")]
Options = Annotated[str, typer.Option(help='Body of each start, as a JSON object: {"greedy": true}.')]
Seating = Annotated[
    str,
    typer.Option(help="Which agent of the service plays for which one of the game: name=agent,…, * being all others."),
]
Named = Annotated[
    bool, typer.Option("--named", help="An observation or action of one part alone is an object with its name, too.")
]
Episodes = Annotated[
    int | None,
    typer.Option(min=1, help="End once so many games are over, with all of the last frame; without it with Ctrl-C."),
]
WaitS = Annotated[float, typer.Option(min=0.1, help="Seconds to wait for the service.")]
IdleS = Annotated[float, typer.Option(min=0.1, help="Seconds after which a silent game is given up.")]


@bridge.command()
def godot(
    url: Url = GAME_PORT_URL, host: Host = "127.0.0.1", port: Port = 11008, purpose: Why = Purpose.TRAIN,
    key: Key = None, secret: Secret = None, options: Options = "{}", seats: Seating = "", named: Named = False,
    episodes: Episodes = None, wait_s: WaitS = 60.0, idle_s: IdleS = 300.0,
) -> None:  # fmt: skip
    """Plays games of Godot RL Agents, which connect to it as to their trainer."""
    from app.bridges.godot.server import serve  # noqa: PLC0415

    _run("godot", lambda: serve, url, host, port, purpose, key, secret, options, seats, named, episodes, wait_s, idle_s)


@bridge.command()
def unity(
    url: Url = GAME_PORT_URL, host: Host = "127.0.0.1", port: Port = 5004, purpose: Why = Purpose.TRAIN,
    key: Key = None, secret: Secret = None, options: Options = "{}", seats: Seating = "", named: Named = False,
    episodes: Episodes = None, wait_s: WaitS = 60.0, idle_s: IdleS = 300.0,
) -> None:  # fmt: skip
    """Plays games of Unity's ML-Agents, which call it as their trainer."""
    with _extra():
        from app.bridges.unity.server import serve  # noqa: PLC0415

    given = (url, host, port, purpose, key, secret, options, seats, named, episodes, wait_s, idle_s)
    _run("unity", lambda: serve, *given)


@bridge.command()
def rllink(
    url: Url = GAME_PORT_URL, host: Host = "127.0.0.1", port: Port = 5555, purpose: Why = Purpose.TRAIN,
    key: Key = None, secret: Secret = None, options: Options = "{}", seats: Seating = "", episodes: Episodes = None,
    wait_s: WaitS = 60.0, idle_s: IdleS = 300.0,
    model: Annotated[str, typer.Option(help="Model of the service whose weights the clients act with.")] = "main",
    names: Annotated[Path | None, _NAMES] = None,
    rllib_config: Annotated[Path | None, _PICKLED] = None,
) -> None:  # fmt: skip
    """Serves RLlib's external clients (RLlink 0.0.1), which act by themselves; their agent is a ToldAgent."""
    with _extra():
        from app.bridges.rllink.server import rllink as serving  # noqa: PLC0415
        from app.bridges.rllink.weights import NewestWeights, read_names  # noqa: PLC0415
    from app.client.signer import Signer  # noqa: PLC0415

    def serve() -> Serve:
        config = None if rllib_config is None else _bytes(rllib_config)
        signer = None if key is None else Signer(key, secret)
        return serving(NewestWeights(url, model, read_names(names), wait_s, signer), config)

    _run("rllink", serve, url, host, port, purpose, key, secret, options, seats, False, episodes, wait_s, idle_s)


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}") from error


def _run(name: str, serve: Callable[[], Serve], *given: Any) -> None:
    """Runs a bridge and prints one line of JSON about what was played."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        settings = settings_of(*given)
        result = asyncio.run(run_bridge(name, settings, serve(), lambda port: _listening(name, port)))
    except (SparringError, ValueError) as error:
        typer.echo(f"sparring bridge {name}: {error}", err=True)
        raise typer.Exit(1) from error
    typer.echo(result.to_json())


def settings_of(
    url: str, host: str, port: int, purpose: Purpose, key: str | None, secret: str | None, options: str, seats: str,
    named: bool, episodes: int | None, wait_s: float, idle_s: float,
) -> Settings:  # fmt: skip
    """Returns the settings that the command line means.

    Raises:
      ConfigError: The options are no JSON object.
      ValueError: The seats are not written as pairs.
    """
    try:
        body = orjson.loads(options)
    except orjson.JSONDecodeError:
        body = None
    if not isinstance(body, dict):
        raise ConfigError(f"--options is {options!r}; allowed is a JSON object")
    return Settings(
        url, port, host, purpose, key, secret, body, read_seats(seats), named, episodes, wait_s, idle_s
    )  # fmt: skip


def _listening(name: str, port: int) -> None:
    typer.echo(f"sparring bridge {name}: games may connect to port {port}", err=True)


@contextmanager
def _extra() -> Iterator[None]:
    """Says what to install where an import fails in the block."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise SparringError(missing("bridge", error)) from error
