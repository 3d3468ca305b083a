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
        application = {
            "name": self.trial_name,
            "route_prefix": f"/{self.trial_name}",
            "import_path": "deployments.build:build",
            "args": {"config": str(RL), "set": [*SMALL, f"run.trial={self.trial_name}", *self.overrides]},
            "deployments": [{"name": "actor-main", "num_replicas": replicas}],
        }
        controller = ray.get_actor("SERVE_CONTROLLER_ACTOR", namespace="serve")
        ray.get(controller.apply_config.remote(ServeDeploySchema.model_validate({"applications": [application]})))

        def is_so() -> bool:
            try:
                return runs(self.trial_name, replicas)
            except KeyError:  # While the application is built, Serve knows no deployment of it.
                return False

        wait_until(is_so, f"there are {replicas} replicas", SCALED_S)
