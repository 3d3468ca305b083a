"""``sparring backup`` and ``sparring restore``."""

import json
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from app.backup.backup import back_up
from app.backup.reading import ArchiveReader
from app.backup.restore import existing, refusal
from app.backup.restore import restore as put_back
from app.errors import BackupError
from app.home import state_root
from app.stages import Stages
from app.stores.names import PREFIX

TERMINATED = 143
"""Exit code after SIGTERM: 128 and its number."""

Json = Annotated[bool, typer.Option("--json", help="Prints JSON.")]


def backup(
    path: Annotated[Path, typer.Argument(help="The archive to write; nothing may be there.")],
    project: Annotated[str | None, typer.Option(help="May be left out where there is one.")] = None,
    trial: Annotated[str | None, typer.Option(help="Only this one, with MLflow's store; default: all.")] = None,
    json_: Json = False,
) -> None:
    """Writes all files of a project into one archive, while it trains and plays.

    Raises:
      SparringError: There is no such project or trial, or the archive cannot be written.
    """
    _end_in_order()
    with Stages() as stages:
        done = back_up(path, project or _only_project(), trial, stages.tell)
    found = done.manifest
    if json_:
        told = {"archive": str(done.archive), "project": found.project, "trial": found.trial}
        _write(json.dumps(told | {"files": len(found.files), "bytes": found.size_bytes}))
        return
    _write(f"{done.archive}: {len(found.files)} files of {found.project}, {found.size_bytes / 1e6:,.1f} MB")
    if not found.databases:
        _write("no sqlite database was there: an MLflow server's store has backups of its own")


def restore(
    path: Annotated[Path, typer.Argument(help="An archive of `sparring backup`.")],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Moves aside what is there.")] = False,
    json_: Json = False,
) -> None:
    """Puts a backup back below SPARRING_HOME, after all of it was checked.

    Raises:
      SparringError: The archive is damaged, something is there already, or a trial of the project runs.
    """
    _end_in_order()
    with Stages() as stages:
        with ArchiveReader(path) as reader:
            manifest = reader.manifest
        root = state_root(manifest.project)
        if there := existing(root, manifest):
            if not overwrite:
                raise BackupError(refusal(root, there))
            _refuse_while_running(manifest.project)
        stages.tell(f"checking and unpacking {len(manifest.files)} files")
        done = put_back(path, overwrite=overwrite)
    if json_:
        replaced = None if done.replaced is None else str(done.replaced)
        told = {"root": str(done.root), "files": len(manifest.files), "created_at": manifest.created_at}
        _write(json.dumps(told | {"paths_moved": done.paths_moved, "replaced": replaced}))
        return
    _write(f"restored {len(manifest.files)} files of {manifest.project}, as of {manifest.created_at}, to {done.root}")
    if done.replaced is not None:
        _write(f"what was there is in {done.replaced}")


def _only_project() -> str:
    home = state_root("any").parent
    there = sorted(path.name for path in home.glob("[!.]*") if path.is_dir())
    if len(there) != 1:
        raise BackupError(f"{home} holds the projects {', '.join(there) or 'none'}; name one by --project")
    return there[0]


def _refuse_while_running(project: str) -> None:
    """Raises where a trial of the project runs on the cluster: it would write into what is put in its place."""
    # Ray takes seconds to import, and nothing else here needs it.
    from deployments.operate.cluster import NoClusterError, cluster  # noqa: PLC0415
    from deployments.operate.finding import running_namespaces, serve_applications  # noqa: PLC0415

    try:
        with cluster():
            running = running_namespaces(serve_applications())
    except NoClusterError:
        return
    ours = [name.removeprefix(PREFIX) for name in running if name.startswith(f"{PREFIX}{project}.")]
    if ours:
        raise BackupError(f"{', '.join(ours)} runs and would write over what is restored; `sparring stop` it first")


def _end_in_order() -> None:
    """Lets SIGTERM end the command as Ctrl-C does, so that nothing half is left."""

    def end(number: int, frame: FrameType | None) -> None:
        sys.exit(TERMINATED)

    signal.signal(signal.SIGTERM, end)


def _write(line: str) -> None:
    sys.stdout.write(f"{line}\n")
