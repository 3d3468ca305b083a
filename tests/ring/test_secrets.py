"""No answer, no log and no file of a running service shows a secret."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from app.wire.token import sign
from tests.leaks import holding

from .service import Cluster, Service, observation, step, wait_until

pytestmark = pytest.mark.ray

ADMIN = "administrator-5f1c9a7be2"
SECRET = "signs-tokens-8d2c41f0aa97"  # noqa: S105  # Of this test.
LATER = "comes-too-late-77ac019be3"
PAGES = (
    "/ring", "/status", "/node", "/replicas", "/sessions", "/metrics", "/errors?level=warning&traceback=1", "/alarms",
    "/weights", "/recordings", "/openapi.json", "/console",
)  # fmt: skip
"""What the service tells of itself."""


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("keys") / "keys.yaml"
    admin = {"name": "admin", "key": ADMIN, "admin": True, "purposes": ["evaluate"]}
    file.write_text(yaml.safe_dump([admin, {"name": "cores", "key": "cores", "secret": SECRET}]))
    return file


@pytest.fixture(scope="module")
def service(cluster: Cluster, keys: Path) -> Iterator[Service]:
    with Service(cluster, "secretive", f"actors.main.access.keys_file={keys}") as running:
        yield running


def test_what_was_said_and_written_holds_no_secret(service: Service, keys: Path) -> None:
    admin = {"key": ADMIN}
    now = str(int(time.time()))
    token = sign(SECRET, "cores", now, "s-1")
    credentials = {"key": "cores", "time": now, "token": token}
    assert service.step("s-1", "start", **credentials).status_code == 200
    assert service.step("s-1", "tick", observation(), **credentials).status_code == 200
    answers = [
        service.step(
            "s-2", "start", **credentials | {"token": SECRET}
        ),  # A client that sends what it should sign with.
        service.step("s-3", "start", key=LATER),
        service.step("s-1", "tick", {"no": "observation"}, **credentials),
    ]
    assert [answer.status_code for answer in answers] == [401, 401, 422]

    keys.write_text(keys.read_text() + f"- {{name: later, key: {LATER}, secret: {LATER}, quota: {{steps_per_s: x}}}}\n")
    error = wait_until(
        lambda: service.http.get("/status", headers=admin).json()["keys"]["error"], "the new file is read"
    )
    answers += [service.http.get(page, headers=admin) for page in PAGES]
    assert [answer.status_code for answer in answers[3:]] == [200] * len(PAGES)

    secrets = (ADMIN, SECRET, LATER, token, service.trial.directory.info().cluster_secret)
    told = [error, *(answer.text for answer in answers)]
    assert [(text[:100], secret) for text in told for secret in secrets if secret in text] == []
    whole = service.cluster.home.parent
    assert any("logs/" in path for path in holding(whole, ["refused: key=cores"]))  # The logs are where we look.
    assert holding(whole, secrets) == []


def test_the_admin_paths_stay_shut_to_other_keys(service: Service) -> None:
    assert step(service.http, kind="start", key="cores").status_code == 401
    assert service.http.get("/ring").status_code == 401
    assert service.http.get("/ring", headers={"authorization": f"Bearer {ADMIN}"}).status_code == 200
