"""A service that is declared, as ``serve deploy`` does it: a changed number of replicas scales in place."""

import ray
from ray.serve.schema import ServeDeploySchema

from app.stores.names import namespace_of
from app.stores.trial import Trial

from .fleet import runs
from .service import RL, SMALL, Service, wait_until

SCALED_S = 90.0
"""Longest time in which replicas come and go on a busy machine."""


class DeclaredService(Service):
    """Begins with one replica."""

    def deploy(self) -> None:
        self.scale(1)
        self.trial = Trial(namespace_of(self.config.run))
        self.port = self.trial.directory.ports()["main"]
        self.url = f"http://127.0.0.1:{self.port}"
        self.serve_url = f"{self.cluster.serve_url}/{self.trial_name}"
        self.http = self.new_client()

    def scale(self, replicas: int) -> None:
        """Declares so many replicas, and returns when there are."""
        declare(self, replicas)
        wait_until(lambda: is_running(self, replicas), f"there are {replicas} replicas", SCALED_S)


def declare(service: Service, replicas: int, *overrides: str) -> None:
    """Asks Serve for so many replicas of a service's config, with more overrides."""
    words = [*SMALL, f"run.trial={service.trial_name}", *service.overrides, *overrides]
    application = {
        "name": service.trial_name,
        "route_prefix": f"/{service.trial_name}",
        "import_path": "deployments.build:build",
        "args": {"config": str(RL), "set": words},
        "deployments": [{"name": "actor-main", "num_replicas": replicas}],
    }
    controller = ray.get_actor("SERVE_CONTROLLER_ACTOR", namespace="serve")
    ray.get(controller.apply_config.remote(ServeDeploySchema.model_validate({"applications": [application]})))


def is_running(service: Service, replicas: int) -> bool:
    """Returns whether there are exactly so many replicas."""
    try:
        return runs(service.trial_name, replicas)
    except KeyError:  # While the application is built, Serve knows no deployment of it.
        return False
