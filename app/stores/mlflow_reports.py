"""Notes at a registered model how near its exported forms play to it."""

from collections.abc import Mapping
from pathlib import Path

from app.errors import TrackingError
from app.stores.mlflow_connection import connect, failures, shown


def note_export(
    tracking_uri: str, version: tuple[str, int], kind: str, report: Path, metrics: Mapping[str, float], *, passed: bool
) -> None:
    """Keeps a report as an artifact of the version's run, with its metrics, and tags the version.

    Args:
      tracking_uri: Address of the store.
      version: Name and number of the registered version.
      kind: What was exported, such as ``int8``; the metrics are ``export/int8/agreement``, ….
      report: The file.
      metrics: Its numbers.
      passed: Whether it may be released.

    Raises:
      TrackingError: The store cannot be reached or refuses.
    """
    known = failures()
    name, number = version
    try:
        client = connect(tracking_uri)
        run_id = str(client.get_model_version(name, str(number)).run_id)
        client.log_artifact(run_id, str(report), f"exports/{name}/{number}/{kind}")
        for metric, value in metrics.items():
            client.log_metric(run_id, f"export/{kind}/{metric}", value)
        client.set_model_version_tag(name, str(number), f"export.{kind}", "passed" if passed else "refused")
        client.set_model_version_tag(name, str(number), f"export.{kind}.agreement", f"{metrics['agreement']:.6f}")
    except known as error:
        raise TrackingError(f"cannot note the export of {name} {number} in {shown(tracking_uri)}: {error}") from error
