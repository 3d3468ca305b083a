"""The kinds of objects that the API server of the tests serves, and what it tells kubectl about them."""

from dataclasses import dataclass
from typing import Final

from .manifests import Tree

VERBS: Final = ["create", "delete", "get", "list", "patch", "update", "watch"]


@dataclass(frozen=True)
class Kind:
    """One kind of objects.

    Attributes:
      api: Its ``apiVersion``.
      name: Its ``kind``.
      plural: Its name in paths.
      short: What kubectl takes for it, too.
    """

    api: str
    name: str
    plural: str
    short: tuple[str, ...] = ()

    @property
    def resource(self) -> Tree:
        """What discovery says of it."""
        names = {"name": self.plural, "singularName": self.name.lower(), "shortNames": list(self.short)}
        return {**names, "kind": self.name, "namespaced": True, "verbs": VERBS}


KINDS: Final = (
    Kind("v1", "ConfigMap", "configmaps", ("cm",)),
    Kind("v1", "PersistentVolumeClaim", "persistentvolumeclaims", ("pvc",)),
    Kind("v1", "Pod", "pods", ("po",)),
    Kind("v1", "Secret", "secrets"),
    Kind("v1", "Service", "services", ("svc",)),
    Kind("apps/v1", "Deployment", "deployments", ("deploy",)),
    Kind("batch/v1", "Job", "jobs"),
    Kind("networking.k8s.io/v1", "Ingress", "ingresses", ("ing",)),
    Kind("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies", ("netpol",)),
    Kind("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", ("pdb",)),
    Kind("ray.io/v1", "RayCluster", "rayclusters"),
    Kind("ray.io/v1", "RayJob", "rayjobs"),
    Kind("ray.io/v1", "RayService", "rayservices"),
)


def kind_of(api: str, plural: str) -> Kind | None:
    """Returns the kind behind a path; None if there is none."""
    return next((kind for kind in KINDS if (kind.api, kind.plural) == (api, plural)), None)


def discovery(path: str) -> Tree | None:
    """Returns what one of the paths of discovery answers; None for other paths."""
    apis = list(dict.fromkeys(kind.api for kind in KINDS))
    groups = [_group(api) for api in apis if "/" in api]
    answers: dict[str, Tree] = {
        "/version": {"major": "1", "minor": "32", "gitVersion": "v1.32.0-tests", "platform": "none"},
        "/api": {"kind": "APIVersions", "versions": ["v1"]},
        "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups},
        **{f"/apis/{group['name']}": {"kind": "APIGroup", "apiVersion": "v1", **group} for group in groups},
    }
    for api in apis:
        found = [kind.resource for kind in KINDS if kind.api == api]
        answer = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api, "resources": found}
        answers[f"{'/apis' if '/' in api else '/api'}/{api}"] = answer
    return answers.get(path)


def _group(api: str) -> Tree:
    version = {"groupVersion": api, "version": api.partition("/")[2]}
    return {"name": api.partition("/")[0], "versions": [version], "preferredVersion": version}
