"""An objective without games: a height that grows by the learning rate, and remembers whose it was."""

from pathlib import Path

from app.config.root import ExperimentConfig
from train.search.trial import SearchTrial


def climb(config: ExperimentConfig, trial: SearchTrial) -> None:
    """Reports the height; a broken config fails."""
    rate = config.trainers["main"].optimizer.learning_rate
    if config.run.seed == 13:
        raise ValueError("seed 13 brings bad luck")
    done, height, owners = read(trial.restored())
    if owners[-1:] != [trial.name]:
        owners.append(trial.name)
    while done < trial.updates:
        done, height = done + 1, height + rate
        if done % trial.report_every_updates == 0:
            text = f"{done} {height!r} {' '.join(owners)}"
            trial.report(done, {"height": height}, lambda folder, text=text: write(folder, text))  # type: ignore[misc]


def read(folder: Path | None) -> tuple[int, float, list[str]]:
    """Returns the updates done, the height, and all that it belonged to."""
    if folder is None:
        return 0, 0.0, []
    done, height, *owners = (folder / "height").read_text().split()
    return int(done), float(height), owners


def write(folder: Path, text: str) -> None:
    (folder / "height").write_text(text)
