"""``sparring replay``: what is recorded, as a list, a page, a film or a test."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final

import typer

from app.config.load import load
from app.errors import ConfigError, RecordingError
from app.home import state_root
from app.recordings.files import SUFFIX
from app.recordings.index import RecordingSummary, find_session, recordings, summaries
from app.recordings.reading import Episode, read_about, read_episode
from app.render.choosing import chosen, defaults, loaded, told
from app.render.export import write_gif, write_mp4
from app.render.frame import Render
from app.render.player import player_html
from train.replays import name_of
from train.resimulation_commands import AGAINST, render_against, show_against

CHAMPION: Final = "champion"
FPS: Final = 15.0
"""Of films: the eye follows it, and a tick is seen."""


def replay(
    file: Annotated[Path, typer.Argument(help="A recording, or a folder of recordings.")],
    episode: Annotated[int | None, typer.Option(help="Episode of the file, from 0; 0 without it.", min=0)] = None,
    session: Annotated[
        str | None, typer.Option(help="Session in place of --episode, its newest play; default: none.")
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="Lists what is recorded.")] = False,
    json_: Annotated[bool, typer.Option("--json", help="Prints JSON.")] = False,
    render: Annotated[
        str | None, typer.Option(help="Name of a render, or package.module:function; the page has all without it.")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Page to write, which loads nothing; default: none.")] = None,
    gif: Annotated[Path | None, typer.Option(help="GIF to write; default: none.")] = None,
    mp4: Annotated[Path | None, typer.Option(help="MP4 to write, by the extra video; default: none.")] = None,
    run: Annotated[
        str | None,
        typer.Option(help="Id of the MLflow run to attach the page to, in the store of --config; default: none."),
    ] = None,
    to_test: Annotated[
        Path | None,
        typer.Option(
            help="Folder to write a test into: the session is answered as it was; needs --config. Default: none."
        ),
    ] = None,
    fps: Annotated[float, typer.Option(help="Frames a second of a film.", min=0.1, max=120)] = FPS,
    config: Annotated[
        Path | None, typer.Option("--config", help="Config file with the agent: its renders, its model; default: none.")
    ] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", metavar="a.b=c", help="Override; may be repeated.")] = None,
    against: Annotated[str | None, typer.Option(metavar="MODEL", help=AGAINST)] = None,
) -> None:
    """Shows recorded games: lists them, and writes one as a page, a GIF, an MP4 or a test.

    Raises:
      SparringError: File, episode or render cannot be had.
    """
    if not file.exists():
        raise RecordingError(f"{file} is not there; allowed is a recording or a folder of recordings")
    if list_:
        _list(file, as_json=json_)
        return
    _check_alone(against, [run, gif, mp4])
    if against is not None and to_test is None and html is None:
        show_against(file, against, config, set_ or [], episode=episode, session=session, as_json=json_)
        return
    found = _episode(file, episode, session)
    renders = _renders(found, config, set_ or [], against if to_test is None else None)
    written: list[dict[str, object]] = []
    if html is not None or run is not None:
        page = player_html(found, renders if render is None else {render: chosen(renders, render)})
        written += [] if html is None else [{"html": _write_page(html, page)}]
        written += [] if run is None else [{"artifact": _attached(found, page, run, config, set_ or [])}]
    written += _films(found, renders, render, {gif: write_gif, mp4: write_mp4}, fps)
    written += [] if to_test is None else [_tested(found, to_test, config, against or CHAMPION, set_ or [])]
    for facts in written or [{"renders": list(renders), "steps": len(found.steps)}]:
        _tell(facts | _named(found), as_json=json_)


def _check_alone(against: str | None, others: Sequence[object]) -> None:
    """Does nothing where a comparison is asked for without a film.

    Raises:
      RecordingError: Both are.
    """
    if against is not None and any(one is not None for one in others):
        raise RecordingError(
            "--against is given with a film or --run; allowed is --against alone, with --html or with --to-test"
        )


def _films(
    episode: Episode,
    renders: Mapping[str, Render],
    render: str | None,
    wanted: Mapping[Path | None, Callable[[Episode, str, Render, Path, float], int]],
    fps: float,
) -> list[dict[str, object]]:
    """Writes films, and returns which and how long they are."""
    name = render or next(iter(renders))
    return [
        {"film": str(path), "frames": write(episode, name, chosen(renders, name), path, fps)}
        for path, write in wanted.items()
        if path is not None
    ]


def _episode(file: Path, number: int | None, session: str | None) -> Episode:
    if session is not None:
        if number is not None:
            raise RecordingError("--episode and --session are given; allowed is one of them")
        return find_session(file, session)[-1]
    if file.is_dir():
        raise RecordingError(f"{file} is a folder; allowed is a file, or --session with one of those that --list shows")
    return read_episode(file, number or 0)


def _renders(
    episode: Episode, config: Path | None, overrides: list[str], against: str | None = None
) -> dict[str, Render]:
    if against is not None:
        return _renders(episode, config, overrides) | render_against(episode, against, config, overrides)
    if config is None:
        return told(episode)
    agents = load(config, overrides).agents
    if episode.agent not in agents:
        raise ConfigError(f"the recording is of agent {episode.agent!r}; {config} has {', '.join(agents) or 'none'}")
    return loaded(agents[episode.agent].renders) | defaults(episode)


def _attached(episode: Episode, page: str, run: str, config: Path | None, overrides: list[str]) -> str:
    """Attaches a page to a run of MLflow and returns its path there."""
    if config is None:
        raise ConfigError("--run needs --config: the file that names the tracking store")
    from app.stores.mlflow_connection import tracking_uri  # noqa: PLC0415  # MLflow takes seconds.
    from app.stores.mlflow_replays import attach_replay  # noqa: PLC0415  # As above.

    whole = load(config, overrides)
    uri = tracking_uri(whole.tracking.mlflow_uri, state_root(whole.run.project))
    summary = next(one for one in summaries(episode.path) if one.number == episode.number)
    return attach_replay(uri, run, name_of(summary), page)


def _tested(episode: Episode, folder: Path, config: Path | None, model: str, overrides: list[str]) -> dict[str, object]:
    """Writes a test and returns what it says now."""
    if config is None:
        raise ConfigError("--to-test needs --config: the file with the agent that played")
    from train.regression import differences, write_test  # noqa: PLC0415  # torch takes seconds.

    test = write_test(episode, folder, config, model, overrides)
    now = differences(test.with_suffix(SUFFIX), config, model, overrides)
    return {"test": str(test), "answered otherwise now": len(now)}


def _list(file: Path, *, as_json: bool) -> None:
    if file.is_file():
        read_about(file)  # What is no recording is said here, and passed over in a folder.
    found = recordings(file) if file.is_dir() else sorted(summaries(file), key=lambda one: one.number)
    if as_json:
        sys.stdout.writelines(f"{json.dumps(one.as_dict())}\n" for one in found)
        return
    sys.stdout.writelines(f"{_line(one)}\n" for one in found)


def _line(one: RecordingSummary) -> str:
    """Returns a line of plain text: a table would cut ids and paths, which are there to be copied."""
    began = datetime.fromtimestamp(one.began_s, UTC).strftime("%Y-%m-%d %H:%M:%S")
    facts = [began, f"{one.ticks} ticks"]
    if one.returned is not None:
        facts.append(f"return {one.returned:g}")
    if one.versions:
        facts.append(f"weights {' to '.join(dict.fromkeys((one.versions[0], one.versions[-1])))}")
    facts += [f"{one.errors} errors"] if one.errors else []
    return (
        f"{one.session}  {', '.join(facts)}, {one.cause or 'unfinished'}, {one.why}  {one.path} --episode {one.number}"
    )


def _write_page(path: Path, page: str) -> str:
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise RecordingError(f"{path} cannot be written: {error}") from error
    return str(path)


def _named(episode: Episode) -> dict[str, object]:
    return {
        "session": episode.session,
        "episode": episode.number,
        "ticks": len(episode.ticks),
        "return": episode.returned,
    }


def _tell(facts: dict[str, object], *, as_json: bool) -> None:
    shown = json.dumps(facts) if as_json else ", ".join(f"{name} {value}" for name, value in facts.items())
    sys.stdout.write(f"{shown}\n")
