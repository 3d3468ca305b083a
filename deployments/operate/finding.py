"""Finds the trials of a cluster and the Serve applications on it."""

import logging
from collections.abc import Callable, Sequence
from typing import Any, Final

import ray
from ray import serve
from ray.exceptions import RayError, RayTaskError
from ray.serve.context import _get_global_client
from ray.serve.schema import ApplicationDetails, ServeInstanceDetails

from app.config.applications import BUILDER, config_of
from app.errors import ConfigError, ServiceNotFoundError, SparringError, first_line
from app.stores.host import StoreHandle, find_host
from app.stores.names import PREFIX, STORES, namespace_of
from app.stores.trial import Trial
from app.stores.weights_client import ages_s, newest_versions
from deployments.operate.trials import Application, TrialStatus, belonging, chosen, namespaces_of, problem_of

ASK_S: Final = 5.0
"""Longest wait for one store."""

_log = logging.getLogger(__name__)


def store_namespaces() -> list[str]:
    """Returns the namespaces of the trials whose stores live."""
    return namespaces_of(str(actor["namespace"]) for actor in ray.util.list_named_actors(all_namespaces=True))


def one_trial(wanted: str | None, named_by: str, missing: Callable[[str], SparringError]) -> str:
    """Returns the namespace of a running trial.

    Args:
      wanted: ``project.trial``, or None for the only one.
      named_by: How the command takes a name, behind "name one".
      missing: Returns the error where it does not run, given the names of those that do.

    Raises:
      ConfigError: None is named and several run.
      SparringError: What ``missing`` returns.
    """
    running = store_namespaces()
    try:
        namespaces = chosen(wanted, running, everything=False)
    except ValueError as error:
        raise ConfigError(str(error).replace(", or give --all", named_by)) from error
    if not namespaces:
        raise missing(", ".join(namespace.removeprefix(PREFIX) for namespace in running) or "none")
    return namespaces[0]


def trials() -> list[TrialStatus]:
    """Returns all trials of the cluster, with their Serve applications."""
    applications = serve_applications()
    return [status_of(namespace, applications) for namespace in running_namespaces(applications)]


def running_namespaces(applications: Sequence[Application]) -> list[str]:
    """Returns the trials that have stores, or an application without them."""
    return sorted({*store_namespaces(), *(a.namespace for a in applications if a.namespace)})


def status_of(namespace: str, applications: Sequence[Application]) -> TrialStatus:
    """Returns what runs of a trial; stores that do not answer are its problem, not ours."""
    try:
        trial = Trial(namespace)
        service = trial.metrics.service(ASK_S)
        store = StoreHandle(find_host(namespace, STORES), "weights")
        weights = newest_versions(store, ASK_S)
        return TrialStatus(
            namespace=namespace,
            mode=trial.directory.info().mode,
            ports=trial.directory.ports(),
            replicas=sorted(service.replicas, key=lambda heard: (heard.report.actor, heard.report.replica)),
            counts=service.counts,
            weights={model: None if version is None else str(version) for model, version in weights.items()},
            weights_age_s=ages_s(store, ASK_S),
            applications=belonging(namespace, applications, service.replicas),
            releases=_releases(trial),
        )
    except (RayError, SparringError) as error:
        told = error.cause if isinstance(error, RayTaskError) else error  # The other one's text is a traceback.
        reason = first_line(told)
        own = belonging(namespace, applications, ())
        return TrialStatus(namespace, applications=own, problem=problem_of(own, reason))


def _releases(trial: Trial) -> dict[str, dict[str, Any]]:
    """Returns how the models stand that follow the registry; none where none does."""
    try:
        operator = trial.operator()
    except ServiceNotFoundError:
        return {}
    return operator.status(ASK_S)


def serve_applications() -> list[Application]:
    """Returns the Serve applications of the cluster; none where Serve does not run."""
    client = _get_global_client(raise_if_no_controller_running=False)
    if client is None:
        return []
    # serve.status() leaves out which config an application was deployed with.
    details = ServeInstanceDetails(**client.get_serve_details())
    return [
        Application(name, application.status.value, application.route_prefix, _namespace(application))
        for name, application in details.applications.items()
    ]


def serve_status(name: str) -> str | None:
    """Returns Serve's word for an application; None where there is none of that name."""
    application = serve.status().applications.get(name)
    return None if application is None else application.status.value


def _namespace(application: ApplicationDetails) -> str | None:
    """Returns the trial that an application's config names, where this machine has that file."""
    deployed = application.deployed_app_config
    if deployed is None or deployed.import_path != BUILDER:
        return None
    try:
        return namespace_of(config_of(deployed.args).run)
    except ConfigError as error:
        _log.info("the config of application %s cannot be read here: %s", application.name, error)
        return None
