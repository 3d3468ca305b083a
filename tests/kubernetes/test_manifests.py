"""Each manifest has fields that there are, and what one names in another is there."""

import copy
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from app.config.applications import is_serve_config, load_applications
from app.config.load import load
from train.driver import parser

from .manifests import FILES, ROOT, Pod, Tree, documents, head, named, pods, port_of, ray_start, workers
from .schema import KINDS

DOCUMENTS = documents()
PODS = pods()
MADE_BY_COMMANDS = {"sparring-keys", "sparring-ray-token", "sparring-metrics-key", "sparring-tls", "sparring-alerts"}
"""Secrets and ConfigMaps that docs/kubernetes.md makes: what they hold is no text of ours."""
PAGE = (ROOT / "docs" / "kubernetes.md").read_text(encoding="utf-8")
names_pod = pytest.mark.parametrize("pod", PODS, ids=lambda pod: pod.where)


def problems(document: Tree) -> list[str]:
    found = Draft202012Validator(KINDS[document["kind"]]).iter_errors(document)
    return [f"{'.'.join(map(str, error.path))}: {error.message[:200]}" for error in found]


@pytest.mark.parametrize("document", [d for _, d in DOCUMENTS], ids=lambda d: f"{d['kind']}-{d['metadata']['name']}")
def test_a_manifest_has_fields_that_there_are(document: Tree) -> None:
    assert problems(document) == []


def _without(path: str) -> Tree:
    changed: Any = copy.deepcopy(named("RayService", "sparring"))
    *above, last = path.split(".")
    part = changed
    for key in above:
        part = part[int(key) if key.isdecimal() else key]
    part[last + "s"] = part.pop(last)
    return dict(changed)


@pytest.mark.parametrize(
    "path",
    [
        "spec.rayClusterConfig",
        "spec.rayClusterConfig.workerGroupSpecs.0.groupName",
        "spec.rayClusterConfig.workerGroupSpecs.0.template.spec.containers.0.lifecycle.preStop",
        "spec.rayClusterConfig.headGroupSpec.template.spec.securityContext.runAsNonRoot",
    ],
)
def test_a_misspelt_field_is_noticed(path: str) -> None:
    assert problems(_without(path))


def test_no_two_manifests_share_kind_and_name() -> None:
    names = [(d["kind"], d["metadata"]["name"]) for _, d in DOCUMENTS]
    assert len(set(names)) == len(names)


@names_pod
def test_a_pod_has_no_rights_that_it_does_not_need(pod: Pod) -> None:
    assert pod.spec["automountServiceAccountToken"] is False
    assert pod.spec["securityContext"]["runAsNonRoot"] is True
    assert pod.spec["securityContext"]["runAsUser"] > 0
    for container in pod.containers:
        context = container["securityContext"]
        assert context["allowPrivilegeEscalation"] is False
        assert context["readOnlyRootFilesystem"] is True
        assert context["capabilities"]["drop"] == ["ALL"]


@names_pod
def test_a_pod_mounts_what_it_names_and_names_what_there_is(pod: Pod) -> None:
    volumes = {volume["name"]: volume for volume in pod.spec["volumes"]}
    mounted = {mount["name"] for container in pod.containers for mount in container["volumeMounts"]}
    assert mounted == set(volumes)
    made = {(d["kind"], d["metadata"]["name"]) for _, d in DOCUMENTS}
    for volume in volumes.values():
        for kind, name in _asked(volume):
            assert (kind, name) in made or name in MADE_BY_COMMANDS


@names_pod
def test_a_probe_asks_a_port_of_its_container(pod: Pod) -> None:
    agent = 52365  # Ray's agent listens on it in every pod.
    for container in pod.containers:
        ports = {one["containerPort"] for one in container.get("ports", [])} | {agent}
        probes = [container[name] for name in ("livenessProbe", "readinessProbe") if name in container]
        asked = [probe["httpGet"]["port"] for probe in probes if "httpGet" in probe]
        commands = " ".join(word for probe in probes if "exec" in probe for word in probe["exec"]["command"])
        assert {*asked, *map(int, re.findall(r"127\.0\.0\.1:(\d+)/", commands))} <= ports


@pytest.mark.parametrize(
    "service", [d for _, d in DOCUMENTS if d["kind"] == "Service"], ids=lambda d: d["metadata"]["name"]
)
def test_a_service_finds_pods_that_have_its_ports(service: Tree) -> None:
    found = [pod for pod in PODS if service["spec"]["selector"].items() <= pod.labels.items()]
    assert found
    for port in service["spec"]["ports"]:
        assert {port_of(pod.containers[0], port["targetPort"]) for pod in found} == {port["port"]}


@pytest.mark.parametrize("kind", ["PodDisruptionBudget", "NetworkPolicy", "Deployment"])
def test_a_selector_finds_pods(kind: str) -> None:
    for _, document in DOCUMENTS:
        if document["kind"] == kind:
            spec = document["spec"]
            labels = spec.get("selector", spec.get("podSelector"))["matchLabels"]
            assert [pod for pod in PODS if labels.items() <= pod.labels.items()], document["metadata"]["name"]


def test_the_network_policy_lets_the_submitter_and_prometheus_in() -> None:
    labels = {value for pod in PODS for key, value in pod.labels.items() if key == "app"}
    text = yaml.safe_dump(named("NetworkPolicy", "sparring"))
    assert {"sparring", "sparring-submitter", "sparring-prometheus"} <= labels & set(re.findall(r"app: (\S+)", text))


def test_the_ingress_leads_to_a_port_that_there_is() -> None:
    backend = named("Ingress", "sparring")["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]
    ports = named("Service", backend["name"])["spec"]["ports"]
    assert backend["port"]["name"] in {port["name"] for port in ports}


def test_a_drain_ends_before_its_pod_is_killed() -> None:
    spec = workers("games")["template"]["spec"]
    (hook,) = re.findall(
        r"--timeout-s (\d+)", " ".join(spec["containers"][0]["lifecycle"]["preStop"]["exec"]["command"])
    )
    config = load(ROOT / "configs" / "kubernetes.yaml")
    assert config.actors["main"].drain_timeout_s < int(hook) < spec["terminationGracePeriodSeconds"]


def test_the_config_of_the_service_is_one(tmp_path: Any) -> None:
    text = named("RayService", "sparring")["spec"]["serveConfigV2"]
    assert is_serve_config(yaml.safe_load(text))
    path = tmp_path / "serve.yaml"
    path.write_text(text)
    (application,) = load_applications(path)
    assert application.trial == "cartpole.kubernetes"
    assert application.config is not None
    actor = application.config.actors["main"]
    (container,) = workers("games")["template"]["spec"]["containers"]
    assert port_of(container, "game") == actor.port
    assert port_of(container, "serve") == yaml.safe_load(text)["http_options"]["port"]
    assert application.config.tracking.mlflow_uri == "http://sparring-mlflow:5000"
    mounts = {mount["mountPath"] for mount in container["volumeMounts"]}
    assert str(actor.access.keys_file).rpartition("/")[0] in mounts


def test_the_job_trains_what_the_service_plays() -> None:
    command = named("RayJob", "sparring-train")["spec"]["entrypoint"].split()
    assert command[:3] == ["python", "-m", "train"]
    given = parser().parse_args(command[3:])
    assert load(ROOT / given.config).run == load(ROOT / "configs" / "kubernetes.yaml").run


def test_the_ray_of_the_manifest_is_the_one_that_is_pinned() -> None:
    pinned = re.search(r"^ray==(\S+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    assert pinned is not None
    assert named("RayService", "sparring")["spec"]["rayClusterConfig"]["rayVersion"] == pinned[1]


def test_the_head_takes_no_replicas() -> None:
    assert "--num-cpus=0" in ray_start(head())
    assert "--num-cpus=2" in ray_start(workers("games"))


@pytest.mark.parametrize("name", sorted(MADE_BY_COMMANDS))
def test_what_commands_make_is_on_the_page(name: str) -> None:
    assert re.search(rf"kubectl create (secret (generic|tls)|configmap) {name}\b", PAGE)


def test_each_file_is_on_the_page() -> None:
    assert {path.name for path in FILES} <= set(re.findall(r"[\w-]+\.yaml", PAGE))


def _asked(volume: Tree) -> Iterator[tuple[str, str]]:
    if "persistentVolumeClaim" in volume:
        yield "PersistentVolumeClaim", volume["persistentVolumeClaim"]["claimName"]
    if "secret" in volume:
        yield "Secret", volume["secret"]["secretName"]
    if "configMap" in volume:
        yield "ConfigMap", volume["configMap"]["name"]
