"""The command ``sparring simulate``."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from app.client.result import Scores
from app.client.seats import read_seats
from app.client.simulator import Simulation, Transport, run_simulation
from app.errors import SparringError
from app.stages import Stages
from app.words import Purpose

GAME_PORT_URL = "http://127.0.0.1:36390"

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def simulate(
    env: Annotated[
        str,
        typer.Option(
            help="Gymnasium id, package.module:Id, pettingzoo:package.module:factory or dm_env:package.module:factory."
        ),
    ] = "CartPole-v1",
    games: Annotated[int, typer.Option(min=1, help="Games played at a time.")] = 16,
    url: Annotated[str, typer.Option(help="The service's game port.")] = GAME_PORT_URL,
    purpose: Annotated[Purpose, typer.Option(help="Why the games are played; only train is learned from.")] = (
        Purpose.TRAIN
    ),
    seed: Annotated[
        int | None, typer.Option(min=0, help="Episode i is seeded with seed + i; drawn if not given.")
    ] = None,
    episodes: Annotated[
        int | None, typer.Option(min=1, help="Play exactly so many games; without it until SIGTERM or Ctrl-C.")
    ] = None,
    transport: Annotated[
        Transport, typer.Option(help="steps: one request a frame for all games; step: one connection a game.")
    ] = Transport.STEPS,
    version: Annotated[
        str | None,
        typer.Option(help="Model version that shall answer, such as 1.57; the service chooses if not given."),
    ] = None,
    wait_s: Annotated[
        float, typer.Option(min=0.1, help="Seconds to wait for the service, at first and whenever it goes away.")
    ] = 60.0,
    seats: Annotated[
        list[str] | None,
        typer.Option(
            help="Games of several agents: who of the service plays for whom, as player_1=random,…; repeated, game i "
            "takes the i-th, and round again."
        ),
    ] = None,
    scored: Annotated[
        list[str] | None,
        typer.Option(help="Games of several agents: whose mean return counts; all if not given. May be repeated."),
    ] = None,
    with_state: Annotated[
        bool,
        typer.Option("--with-state", help="Games of several agents: send the state of the whole game along."),
    ] = False,
    progress: Annotated[
        bool | None,
        typer.Option(help="Show a line a second on stderr; if not given, a bar on a terminal where --episodes is."),
    ] = None,
) -> None:
    """Plays games against a running service and prints one line of JSON about them."""
    try:
        simulation = Simulation(
            env, url, games, purpose, seed, episodes, transport, version, wait_s,
            tuple(read_seats(text) for text in seats or ()), frozenset(scored or ()), with_state,
        )  # fmt: skip
        with _shown(progress, episodes) as show:
            result = run_simulation(simulation, show)
    except (SparringError, ValueError) as error:
        typer.echo(f"sparring simulate: {error}", err=True)
        raise typer.Exit(1) from error
    typer.echo(result.to_json())
    if episodes is not None and result.episodes < episodes:
        typer.echo(f"sparring simulate: stopped after {result.episodes} of {episodes} games", err=True)
        raise typer.Exit(1)


@contextmanager
def _shown(progress: bool | None, episodes: int | None) -> Iterator[Callable[[Scores], None] | None]:
    """Gives what shows how far the games are; None where nobody wants to see it."""
    if progress is not None or episodes is None or not sys.stderr.isatty():
        yield _show if progress else None
        return
    with Stages() as stages:
        yield lambda scores: stages.count("games", scores.episodes, episodes)


def _show(scores: Scores) -> None:
    mean = scores.mean_return()
    returns = "" if mean is None else f", mean return {mean:.1f}"
    typer.echo(f"{scores.episodes} games{returns}, {scores.ticks_per_s():,.0f} ticks/s", err=True)
