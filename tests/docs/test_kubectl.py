"""The commands of docs/kubernetes.md, typed as they stand, with the real kubectl and the API server of the tests."""

import base64
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from app.config.load import load
from deployments.port import free_port
from tests.hardening.proxy import certify
from tests.kubernetes.api_server import ApiServer, api_server
from tests.kubernetes.kinds import KINDS
from tests.kubernetes.kubectl import kubeconfig, needs_kubectl
from tests.kubernetes.manifests import FOLDER, documents, named

from .blocks import blocks
from .readme import ROOT, Block, Terminal, reader_env, shows

pytestmark = [pytest.mark.slow, needs_kubectl]

PAGE = "docs/kubernetes.md"
TEXT = (ROOT / PAGE).read_text(encoding="utf-8")
MANIFESTS = "configs/cluster/kubernetes"
TYPED_S = 120.0
BUDGETS = "poddisruptionbudget"
"""Of these newer kubectls say ``configured`` each time: they send the selector always."""


class Reader(NamedTuple):
    """Somebody at a terminal.

    Attributes:
      folder: Where they are: it holds what the page says that they have.
      terminal: What they type into.
      server: The cluster that their kubectl asks.
    """

    folder: Path
    terminal: Terminal
    server: ApiServer

    def types(self, text: str, number: int = 0) -> str:
        """Types the block that holds a text, and returns what kubectl prints."""
        return self.terminal.run(block(text, number))

    def finds(self, kind: str) -> dict[str, Any]:
        """Returns the objects of a kind, by their names."""
        (known,) = (one for one in KINDS if one.name == kind)
        return {one["metadata"]["name"]: one for one in self.server.objects.all(known)}

    def data(self, kind: str, name: str) -> dict[str, str]:
        data = self.finds(kind)[name]["data"]
        return data if kind == "ConfigMap" else {key: base64.b64decode(text).decode() for key, text in data.items()}


def block(text: str, number: int = 0) -> str:
    return [one.text for one in blocks("sh") if one.page == PAGE and text in one.text][number]


def said(printed: str) -> dict[str, str]:
    """Returns what kubectl says of each object: ``created``, ``unchanged``, ``configured``."""
    return dict(line.rsplit(" ", 1) for line in printed.splitlines() if "/" in line.partition(" ")[0])


def configured(printed: str) -> set[str]:
    """Returns what kubectl says that it has changed."""
    return {name for name, word in said(printed).items() if word == "configured" and BUDGETS not in name}


def specs(reader: Reader, kind: str) -> dict[str, Any]:
    return {name: found["spec"] for name, found in reader.finds(kind).items()}


@contextmanager
def reading(tmp_path: Path) -> Iterator[Reader]:
    folder, logs, home = (tmp_path / name for name in ("reader", "logs", "home"))
    shutil.copytree(FOLDER, folder / MANIFESTS)
    shutil.copytree(ROOT / "configs" / "dashboards", folder / "configs" / "dashboards")
    logs.mkdir()
    (folder / "keys.yaml").write_text(re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)[0])
    (folder / "metrics.key").write_text("put-32-other-random-characters-here")
    certify(folder / "play.crt", folder / "play.key")
    with api_server() as server:
        env = reader_env(home) | {"KUBECONFIG": str(kubeconfig(tmp_path / "kubeconfig", server.url))}
        terminal = Terminal(folder, logs, env, TYPED_S)
        try:
            yield Reader(folder, terminal, server)
        finally:
            terminal.stop_all()


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    with reading(tmp_path) as reader:
        yield reader


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """One who has typed the page down to Start; tests leave nothing behind."""
    with reading(tmp_path_factory.mktemp("started")) as reader:
        reader.types("kubectl create secret")
        reader.types("kubectl apply -f configs")
        yield reader


def test_keys_are_made_and_exchanged(reader: Reader) -> None:
    made = said(reader.types("kubectl create secret"))
    assert set(made.values()) == {"created"}
    assert set(reader.finds("Secret")) == {f"sparring-{name}" for name in ("keys", "ray-token", "metrics-key", "tls")}
    assert re.fullmatch("[0-9a-f]{64}", reader.data("Secret", "sparring-ray-token")["auth_token"])
    assert set(reader.data("Secret", "sparring-tls")) == {"tls.crt", "tls.key"}
    # The paths where pods read: a mounted Secret has a file for each key.
    keys_file = load(ROOT / "configs" / "kubernetes.yaml").actors["main"].access.keys_file
    assert set(reader.data("Secret", "sparring-keys")) == {Path(str(keys_file)).name}
    prometheus = named("ConfigMap", "sparring-prometheus")["data"]["prometheus.yml"]
    for name in (*reader.data("Secret", "sparring-metrics-key"), *reader.data("ConfigMap", "sparring-alerts")):
        assert f"/{name}" in prometheus

    (reader.folder / "keys.yaml").write_text("- {name: other, key: other-0123456789}\n")
    assert said(reader.types("kubectl create secret", 1)) == {"secret/sparring-keys": "configured"}
    assert "other" in reader.data("Secret", "sparring-keys")["keys.yaml"]


def test_the_service_starts_and_its_pods_are_listed(reader: Reader) -> None:
    reader.types("kubectl create secret")
    printed = reader.types("kubectl apply -f configs")
    created = {name for name, word in said(printed).items() if word == "created"}
    here = [document for file, document in documents() if file != "train.yaml"]
    assert len(created) == len(here)
    for document in here:
        assert any(name.startswith(document["kind"].lower()) for name in created)
        found = reader.finds(document["kind"])[document["metadata"]["name"]]
        assert document.get("spec", {}).items() <= found.get("spec", {}).items()
    assert "rayservice.ray.io/sparring condition met" in printed
    listed = printed.partition("condition met")[2]
    assert shows(listed, "NAME…READY…STATUS")
    (cluster,) = reader.finds("RayCluster")
    rows = re.findall(rf"^{cluster}-(head|games-worker)-\w{{5}} +[01]/1 ", listed, re.MULTILINE)
    assert sorted(rows) == ["games-worker", "games-worker", "head"]
    assert "mlflow" not in listed

    versions = [one["metadata"]["resourceVersion"] for kind in KINDS for one in reader.finds(kind.name).values()]
    again = said(reader.types("kubectl apply -f configs").partition("rayservice.ray.io/sparring condition")[0])
    assert set(again) >= created
    assert {word for name, word in again.items() if name in created and BUDGETS not in name} == {"unchanged"}
    assert versions == [
        one["metadata"]["resourceVersion"] for kind in KINDS for one in reader.finds(kind.name).values()
    ]


def test_a_job_trains_in_the_services_cluster_until_it_is_deleted(started: Reader) -> None:
    (follows,) = re.findall(r"^until (kubectl [^;]*); do", block("rayClusterName"), re.MULTILINE)
    with pytest.raises(AssertionError, match="not found"):  # So that it is asked again until there is a pod.
        started.terminal.run(follows)
    printed = started.types("rayClusterName")
    (cluster,) = started.finds("RayCluster")
    job = started.finds("RayJob")["sparring-train"]
    assert job["spec"]["clusterSelector"] == {"ray.io/cluster": cluster}
    (pod,) = [name for name in started.finds("Pod") if name.startswith("sparring-train-")]
    entrypoint = named("RayJob", "sparring-train")["spec"]["entrypoint"]
    submits = f"ray job submit --address http://{cluster}-head-svc.default.svc.cluster.local:8265…-- {entrypoint}"
    assert shows(printed, f"rayjob.ray.io/sparring-train created\n{submits}\n…{pod}…ended"), printed

    delete = "kubectl delete rayjob sparring-train"
    assert f"`{delete}`" in TEXT
    assert '"sparring-train" deleted' in started.terminal.run(delete)
    assert not started.finds("Job")
    assert pod not in started.finds("Pod")


def test_ports_are_forwarded_to_the_pods_behind_the_services(started: Reader) -> None:
    started.terminal.run("kubectl wait --for=condition=Ready pod --all --timeout=1m")
    (cluster,) = started.finds("RayCluster")
    answers = []
    for line in block("port-forward").splitlines():
        command, _, port = line.rpartition(" ")
        here = free_port()  # The page's own may be taken on this machine.
        started.terminal.do(Block(f"{command} {here}:{port}", "", ("port", str(here))))
        answers += [httpx.get(f"http://127.0.0.1:{here}", timeout=30).text for _ in range(2)]
    expected = [rf"{cluster}-games-worker-\w+:36390", r"sparring-mlflow-\S+:5000", r"sparring-prometheus-\S+:9090"]
    assert len(answers) == 2 * len(expected)
    for answer, pattern in zip(answers, [one for one in expected for _ in range(2)], strict=True):
        assert re.fullmatch(pattern, answer)


def test_a_change_is_applied_and_rolled_back(started: Reader) -> None:
    before = {kind: specs(started, kind) for kind in ("RayService", "Deployment")}
    git = "git -c user.name=reader -c user.email=reader@example"
    started.terminal.run(f"git init -q && git add configs && {git} commit -qm first && git tag v1")
    for file, old, new in (
        ("service.yaml", 'revision: "1"', 'revision: "2"'),
        ("mlflow.yaml", "sparring:0.1.0", "sparring:0.2.0"),
    ):
        path = started.folder / MANIFESTS / file
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))
    changed = {"rayservice.ray.io/sparring", "deployment.apps/sparring-mlflow"}
    assert configured(started.terminal.run(f"kubectl apply -f {MANIFESTS}")) == changed
    assert 'revision: "2"' in started.finds("RayService")["sparring"]["spec"]["serveConfigV2"]
    (container,) = started.finds("Deployment")["sparring-mlflow"]["spec"]["template"]["spec"]["containers"]
    (written,) = named("Deployment", "sparring-mlflow")["spec"]["template"]["spec"]["containers"]
    assert container == written | {"image": "sparring:0.2.0"}

    (back,) = re.findall(r"`(git checkout v1[^`]*)`", TEXT)
    assert configured(started.terminal.run(back.replace("\n", " "))) == changed
    assert before == {kind: specs(started, kind) for kind in before}


def test_a_wrong_label_lists_no_pod(started: Reader) -> None:
    wrong = block("kubectl get pods").splitlines()[-1].replace("app=sparring", "app=spaaring")
    assert "No resources found" in started.terminal.run(wrong)


@pytest.mark.parametrize("path", ["activeServiceStatus", "rayClusterName"])
def test_a_wrong_path_to_the_clusters_name_makes_no_job(started: Reader, path: str) -> None:
    assert path in block("rayClusterName")
    with pytest.raises(AssertionError, match="clusterSelector"):
        started.terminal.run(block("rayClusterName").replace(path, "clusterName"))
    assert not started.finds("RayJob")


def test_a_misspelt_field_is_refused(reader: Reader) -> None:
    path = reader.folder / MANIFESTS / "service.yaml"
    path.write_text(path.read_text().replace("headGroupSpec:", "headGroup:"))
    with pytest.raises(AssertionError, match="headGroup"):
        reader.terminal.run(f"kubectl apply -f {MANIFESTS}/service.yaml")
    assert not reader.finds("RayService")


def test_the_service_becomes_ready_only_with_its_keys(reader: Reader) -> None:
    lines = block("kubectl create secret").splitlines()
    late = [line for line in lines if " sparring-keys " in line or " sparring-ray-token " in line]
    reader.terminal.run("\n".join(line for line in lines if line not in late))
    reader.terminal.run(f"kubectl apply -f {MANIFESTS}")
    wait = block("kubectl wait").splitlines()[1]
    for line in late:
        with pytest.raises(AssertionError, match="timed out"):
            reader.terminal.run(wait.replace("15m", "2s"))
        assert "ContainerCreating" in reader.terminal.run("kubectl get pods -l app=sparring")
        reader.terminal.run(line)
    assert "condition met" in reader.terminal.run(wait)
