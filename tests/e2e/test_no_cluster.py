"""What the operator's commands say where no Ray cluster runs."""

import pytest

from deployments.port import free_port

from .commands import Place

pytestmark = pytest.mark.e2e

CALL = "import sys; from app.cli import main; main(sys.argv[1:])"


@pytest.mark.parametrize("command", ["status", "stop"])
def test_a_cluster_that_does_not_answer_is_a_message_and_exit_code_1(place: Place, command: str) -> None:
    address = f"127.0.0.1:{free_port()}"
    done = place.run("python", "-c", CALL, command, RAY_ADDRESS=address, timeout_s=60)
    assert done.returncode == 1, done.stdout
    assert f"no Ray cluster answers at {address}" in done.stderr
    assert "start one with 'ray start --head'" in done.stderr
    assert "Traceback" not in done.stderr


def test_where_no_cluster_is_to_be_found_that_is_said(place: Place) -> None:
    done = place.run("python", "-c", CALL, "status", timeout_s=60)
    if done.returncode == 0:
        pytest.skip("another Ray cluster runs on this machine, and Ray has found it")
    assert done.returncode == 1
    assert "no Ray cluster can be reached" in done.stderr
    assert "Traceback" not in done.stderr
