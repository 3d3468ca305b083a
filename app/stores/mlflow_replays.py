"""Attaches recorded games to MLflow's runs."""

from app.errors import TrackingError
from app.stores.mlflow_connection import connect, failures, shown

REPLAYS = "replays"
"""Folder of the run's artifacts."""


def attach_replay(tracking_uri: str, run_id: str, name: str, page: str) -> str:
    """Keeps a page as an artifact of a run, which MLflow shows, and returns its path; blocks.

    Args:
      tracking_uri: Address of the store.
      run_id: The run.
      name: Of the file, without its ending.
      page: What ``app.render.player.player_html`` has made.

    Raises:
      TrackingError: The store cannot be reached or refuses.
    """
    known, path = failures(), f"{REPLAYS}/{name}.html"
    try:
        connect(tracking_uri).log_text(run_id, page, path)
    except known as error:
        raise TrackingError(f"cannot attach {path} to run {run_id} in {shown(tracking_uri)}: {error}") from error
    return path
