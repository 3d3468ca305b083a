"""Plays KubeRay's operator and Kubernetes' own controllers, as far as the manifests and docs/kubernetes.md need them.

Names, labels, fields and conditions are those of KubeRay's ``ray.io/v1``. No upgrade of a cluster is played.
"""

import hashlib
import json
import secrets
import shlex
import threading
from typing import Any, Final

import yaml

from .kinds import kind_of
from .kubelet import PODS, Kubelet
from .manifests import Tree
from .objects import Objects, RefusedError

DEPLOYMENTS: Final[Any] = kind_of("apps/v1", "deployments")
JOBS: Final[Any] = kind_of("batch/v1", "jobs")
RAY_CLUSTERS: Final[Any] = kind_of("ray.io/v1", "rayclusters")
RAY_JOBS: Final[Any] = kind_of("ray.io/v1", "rayjobs")
RAY_SERVICES: Final[Any] = kind_of("ray.io/v1", "rayservices")
LOOKS_S: Final = 0.1
ENDS_S: Final = 10.0


class Controllers:
    """Brings about in a thread of its own what objects ask for."""

    def __init__(self, objects: Objects, kubelet: Kubelet) -> None:
        self._objects, self._kubelet = objects, kubelet
        self._thread = threading.Thread(target=self._run)

    def start(self) -> None:
        self._thread.start()

    def join(self) -> None:
        """Waits until the thread has ended, which it does when the objects have."""
        self._thread.join(ENDS_S)

    def _run(self) -> None:
        while not self._objects.ended:
            with self._objects.changed:
                for kind, act in (
                    (RAY_SERVICES, self._ray_service),
                    (RAY_CLUSTERS, self._ray_cluster),
                    (RAY_JOBS, self._ray_job),
                    (JOBS, self._job),
                    (DEPLOYMENTS, self._deployment),
                ):
                    for found in self._objects.all(kind):
                        act(found)
                self._kubelet.look()
                self._objects.changed.wait(LOOKS_S)

    def _ray_service(self, service: Tree) -> None:
        status = service.setdefault("status", {})
        name = status.get("activeServiceStatus", status.get("pendingServiceStatus", {})).get("rayClusterName")
        if name is None:
            name = f"{service['metadata']['name']}-{_random()}"
            spec = {"metadata": {"name": name}, "spec": service["spec"]["rayClusterConfig"]}
            self._objects.create(RAY_CLUSTERS, service["metadata"]["namespace"], spec, service)
        serving = [pod for pod in self._pods_of(service, {"ray.io/cluster": name}) if _serves(service, pod)]
        status |= {"numServeEndpoints": len(serving), "serviceStatus": "Running" if serving else ""}
        status.pop("pendingServiceStatus", None)
        status["activeServiceStatus" if serving else "pendingServiceStatus"] = {"rayClusterName": name}
        reason = "NonZeroServeEndpoints" if serving else "Initializing"
        status["conditions"] = [{"type": "Ready", "status": str(bool(serving)), "reason": reason, "message": reason}]
        self._objects.replace(RAY_SERVICES, service)

    def _ray_cluster(self, cluster: Tree) -> None:
        spec = cluster["spec"]
        made = self._pod_group(cluster, "headgroup", "head", spec["headGroupSpec"], 1)
        for group in spec["workerGroupSpecs"]:
            made += self._pod_group(cluster, group["groupName"], "worker", group, group.get("replicas", 0))
        ready = all(_is_running(pod) for pod in made)
        cluster["status"] = {"state": "ready"} if ready else {}
        self._objects.replace(RAY_CLUSTERS, cluster)

    def _pod_group(self, cluster: Tree, group: str, role: str, spec: Tree, number: int) -> list[Tree]:
        name = cluster["metadata"]["name"]
        own = {"ray.io/cluster": name, "ray.io/node-type": role, "ray.io/group": group, "ray.io/is-ray-node": "yes"}
        prefix = f"{name}-{role}" if role == "head" else f"{name}-{group}-{role}"
        return self._pods(cluster, prefix, own, _with_token(spec["template"], cluster), number)

    def _ray_job(self, job: Tree) -> None:
        spec, status, namespace = job["spec"], job.setdefault("status", {}), job["metadata"]["namespace"]
        try:
            cluster = self._objects.get(RAY_CLUSTERS, namespace, spec["clusterSelector"]["ray.io/cluster"])
        except RefusedError:
            return
        name, cluster_name = job["metadata"]["name"], cluster["metadata"]["name"]
        if not status:
            url = f"{cluster_name}-head-svc.{namespace}.svc.cluster.local:8265"
            status |= {"jobId": f"{name}-{_random()}", "rayClusterName": cluster_name, "dashboardURL": url}
            status["jobDeploymentStatus"] = "Initializing"
        if status["jobDeploymentStatus"] == "Initializing" and cluster["status"].get("state") == "ready":
            template = _with_token(spec["submitterPodTemplate"], cluster)
            template["spec"]["containers"][0] |= {
                "command": ["/bin/bash", "-ce", "--"],
                "args": [_submits(spec, status)],
            }
            self._objects.create(JOBS, namespace, {"metadata": {"name": name}, "spec": {"template": template}}, job)
            status["jobDeploymentStatus"] = "Running"
        submitter = {one["metadata"]["name"]: one for one in self._objects.all(JOBS, namespace)}.get(name, {})
        if submitter.get("status", {}).get("succeeded"):
            status |= {"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED"}
        self._objects.replace(RAY_JOBS, job)

    def _job(self, job: Tree) -> None:
        name, uid = job["metadata"]["name"], job["metadata"]["uid"]
        own = {"controller-uid": uid, "job-name": name}
        own |= {f"batch.kubernetes.io/{key}": value for key, value in own.items()}
        job["spec"]["selector"] = {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
        (pod,) = self._pods(job, name, own, job["spec"]["template"], 1)
        if pod.get("status", {}).get("phase") == "Succeeded":
            job["status"] = {"succeeded": 1, "conditions": [{"type": "Complete", "status": "True"}]}
        self._objects.replace(JOBS, job)

    def _deployment(self, deployment: Tree) -> None:
        name, spec = deployment["metadata"]["name"], deployment["spec"]
        template = hashlib.sha256(json.dumps(spec["template"], sort_keys=True).encode()).hexdigest()[:10]
        for pod in self._objects.all(PODS, deployment["metadata"]["namespace"]):
            (owner,) = pod["metadata"].get("ownerReferences", [{"uid": None}])
            is_own = owner["uid"] == deployment["metadata"]["uid"]
            if is_own and pod["metadata"]["labels"]["pod-template-hash"] != template:
                self._objects.delete(PODS, pod["metadata"]["namespace"], pod["metadata"]["name"])
        own = {"pod-template-hash": template}
        pods = self._pods(deployment, f"{name}-{template}", own, spec["template"], spec.get("replicas", 1))
        deployment["status"] = {"readyReplicas": sum(_is_running(pod) for pod in pods), "replicas": len(pods)}
        self._objects.replace(DEPLOYMENTS, deployment)

    def _pods(self, owner: Tree, prefix: str, own: dict[str, str], template: Tree, number: int) -> list[Tree]:
        """Returns an owner's pods with a label of each kind, after some are made until there are as many as asked."""
        labels = template["metadata"]["labels"] | own
        found = [pod for pod in self._pods_of(owner, labels) if pod["metadata"]["name"].startswith(f"{prefix}-")]
        while len(found) < number:
            pod = {"metadata": {"name": f"{prefix}-{_random()}", "labels": labels}, "spec": template["spec"]}
            found.append(self._objects.create(PODS, owner["metadata"]["namespace"], pod, owner))
        return found

    def _pods_of(self, owner: Tree, labels: dict[str, str]) -> list[Tree]:
        pods = self._objects.all(PODS, owner["metadata"]["namespace"])
        return [pod for pod in pods if labels.items() <= pod["metadata"]["labels"].items()]


def _random() -> str:
    return "".join(secrets.choice("bcdfghjklmnpqrstvwxz2456789") for _ in range(5))


def _is_running(pod: Tree) -> bool:
    return bool(pod.get("status", {}).get("phase") == "Running")


def _serves(service: Tree, pod: Tree) -> bool:
    is_head = pod["metadata"]["labels"]["ray.io/node-type"] == "head"
    return _is_running(pod) and not (is_head and service["spec"].get("excludeHeadPodFromServeSvc"))


def _with_token(template: Tree, cluster: Tree) -> Tree:
    """Returns a pod template whose container gets Ray's token."""
    source = {"secretKeyRef": {"name": cluster["spec"]["authOptions"]["secretName"], "key": "auth_token"}}
    container, *others = template["spec"]["containers"]
    token = [{"name": "RAY_AUTH_MODE", "value": "token"}, {"name": "RAY_AUTH_TOKEN", "valueFrom": source}]
    changed = container | {"env": [*container.get("env", []), *token]}
    return template | {"spec": template["spec"] | {"containers": [changed, *others]}}


def _submits(spec: Tree, status: Tree) -> str:
    """Returns the command of the pod that submits a job."""
    environment = shlex.quote(json.dumps(yaml.safe_load(spec["runtimeEnvYAML"])))
    words = f"ray job submit --address http://{status['dashboardURL']} --submission-id {status['jobId']}"
    return f"{words} --runtime-env-json {environment} -- {spec['entrypoint']}"
