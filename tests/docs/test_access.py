"""What the page about keys shows is what the service takes."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from app.config.access import AccessConfig
from app.config.keys import read_keys
from app.types import Purpose, StepKind
from app.wire.steps import Credentials, StepRequest
from app.wire.token import sign
from deployments.keys import DoorKeeper

PAGE = (Path(__file__).parents[2] / "docs" / "access.md").read_text(encoding="utf-8")
YAML = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
BASH = re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL)

needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="the page's commands use openssl")


@pytest.fixture
def access(tmp_path: Path) -> AccessConfig:
    file = tmp_path / "keys.yaml"
    file.write_text(YAML[1])
    return AccessConfig(keys_file=str(file))


def printed(commands: str) -> list[str]:
    done = subprocess.run(["/bin/bash", "-euc", commands], capture_output=True, text=True, check=True, timeout=30)
    return done.stdout.split()


def test_the_shown_access_is_one_of_the_schema() -> None:
    assert AccessConfig.model_validate(yaml.safe_load(YAML[0])["actors"]["main"]["access"]).guarded


def test_the_shown_keys_load(access: AccessConfig) -> None:
    assert [key.name for key in read_keys(access)] == ["training", "live", "old-clients"]


@needs_openssl
def test_the_shown_command_makes_a_token_that_is_admitted(access: AccessConfig) -> None:
    commands = BASH[0].partition("curl")[0]
    key, time, session, token = printed(f'{commands}\necho "$key" "$time" "$session" "$token"')
    doors = DoorKeeper(access, Purpose.TRAIN).doors
    request = StepRequest(session, StepKind.START, b"", credentials=Credentials(key, time, token))
    assert doors.admit(request, float(time)).key == "training"


@needs_openssl
def test_the_shown_command_makes_a_static_token() -> None:
    assert printed(BASH[1]) == [sign("another 32 random characters", "old-clients", "", "")]
