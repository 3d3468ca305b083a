"""Where the model lies that a config, ``--restore`` or a command names."""

from pathlib import Path
from typing import Final

from app.errors import CheckpointError
from app.models.checkpoints import (
    CHECKPOINTS,
    LATEST,
    check_learner,
    find_checkpoint,
    newest_readable,
    trainer_folders,
    whole_checkpoints,
)
from app.models.lineage import Clone
from app.models.pool import CLONES, ModelPool, Source
from app.models.saved import META, read_meta, read_model

REGISTERED: Final = "models:/"
"""How the name of a registered model version begins."""
ALLOWED: Final = (
    "allowed: clones/<id>, checkpoints/latest, checkpoints/<updates>, with several trainers checkpoints/<trainer>/…, "
    "each also behind a trial's name and '/', a folder, or models:/<name>@<alias>"
)


class ModelReferences:
    """Looks names up: absolute, or below the trial's folder, or below the project's."""

    def __init__(self, home: Path, trial: str) -> None:
        """Keeps the folders.

        Args:
          home: State root of the project.
          trial: Trial whose names need no trial in front.
        """
        self._places = (home / trial, home)

    def find(self, reference: str) -> Path:
        """Returns the folder that holds the model: a clone's, a checkpoint's, or another with a ``model.json``.

        Of a trainable clone that has been trained it is its newest checkpoint.

        Raises:
          CheckpointError: There is none; the message names what is there.
        """
        clone = self.clone(reference)
        if clone is None:
            return self._find(reference)
        folder, found = clone
        own = folder / found.id
        trained = None if found.frozen else newest_model(own / CHECKPOINTS)
        return own if trained is None else trained

    def clone(self, reference: str) -> tuple[Path, Clone] | None:
        """Returns the pool's folder and the clone that are named; None where it is no clone that is named.

        Raises:
          CheckpointError: There is no such clone.
        """
        path = Path(reference).expanduser()
        if path.parent.name != CLONES or reference.startswith(REGISTERED):
            return None
        pools = [place / path.parent for place in self._places]
        folder = next((pool for pool in pools if pool.is_dir()), pools[0])
        return folder, ModelPool(folder).find(path.name)

    def read(self, reference: str) -> Source:
        """Returns the weights that are named, and what they are.

        Raises:
          CheckpointError: There is no such model, or it is damaged.
        """
        folder = self.find(reference)
        step = read_meta(folder).get("step")
        origin = next((str(folder.relative_to(p)) for p in self._places if folder.is_relative_to(p)), str(folder))
        return Source(read_model(folder), origin, self.owner(folder), step if isinstance(step, int) else None)

    def owner(self, folder: Path) -> str | None:
        """Returns the clone of the own trial that a folder is, or lies in; None where there is none."""
        own = self._places[0] / CLONES
        return folder.relative_to(own).parts[0] if folder.is_relative_to(own) and folder != own else None

    def _find(self, reference: str) -> Path:
        path = Path(reference).expanduser()
        for place in self._places:
            there = place / path  # An absolute path stays what it is.
            if (there / META).is_file():
                return there
            folder = there.parent
            if CHECKPOINTS in (folder.name, folder.parent.name) and folder.is_dir():
                return _checkpoint(_of_one_trainer(folder) if folder.name == CHECKPOINTS else folder, there.name)
        places = " and ".join(map(str, dict.fromkeys(place / path for place in self._places)))
        raise CheckpointError(f"there is no model {reference!r}: looked at {places}; {ALLOWED}")


def newest_model(folder: Path) -> Path | None:
    """Returns the newest checkpoint of a folder that can be read; None where there is none."""
    return newest_readable(whole_checkpoints(folder), _readable)


def _readable(folder: Path) -> Path:
    read_model(folder)
    check_learner(folder)
    return folder


def _of_one_trainer(folder: Path) -> Path:
    """Returns the folder whose checkpoints are meant where no trainer is named."""
    trainers = trainer_folders(folder.parent)
    if len(trainers) > 1 and not whole_checkpoints(folder):
        names = ", ".join(f"{CHECKPOINTS}/{trainer.name}" for trainer in trainers)
        raise CheckpointError(f"{folder} holds the checkpoints of several trainers; name one: {names}")
    return trainers[0] if len(trainers) == 1 and not whole_checkpoints(folder) else folder


def _checkpoint(folder: Path, wanted: str) -> Path:
    if wanted != LATEST:
        return find_checkpoint(folder, wanted)
    newest = newest_model(folder)
    if newest is None:
        raise CheckpointError(f"there is no checkpoint in {folder} that can be read")
    return newest
