"""What stands around the code: README, Makefile, configs, Serve config, pins, wheel, licence."""

import inspect
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from _pytest.mark.expression import Expression

from .conftest import FOLDERS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PINS = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().split())
PACKAGES = ("app", "deployments", "train")
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
TARGETS = re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_every_path_of_the_readmes_table_exists() -> None:
    paths = re.findall(r"^\| `([^`]+)` \|", README.partition("## Where is what")[2].partition("\n## ")[0], re.MULTILINE)
    assert len(paths) > 10
    assert [path for path in paths if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_inside_the_project_leads_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    links = [link for link in re.findall(r"\]\(([^)#]+)[^)]*\)", text) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []


BAD_REQUESTS = {("bad_request", status) for status in (404, 405, 417, 426, 505)}
"""Told in the row of ``bad_request``."""


def test_the_readmes_errors_are_those_of_the_code() -> None:
    from app.errors import StepError  # noqa: PLC0415
    from deployments.steps import StepService  # noqa: F401, PLC0415  # Defines one more.

    def below(error: type[StepError]) -> set[tuple[str, int]]:
        own = [child for child in error.__subclasses__() if child.__module__.startswith(PACKAGES)]  # Tests have some.
        return {(error.code, error.status)}.union(*map(below, own))

    for page in (README, (ROOT / "docs/protocol.md").read_text(encoding="utf-8")):
        rows = re.findall(r"^\| `(\w+)` \| (\d{3})", page.partition("## Errors")[2], re.MULTILINE)
        assert {(code, int(status)) for code, status in rows} == below(StepError) - BAD_REQUESTS


@pytest.mark.parametrize("target", TARGETS)
def test_the_makefile_has_the_target(target: str) -> None:
    done = subprocess.run(["/usr/bin/env", "make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Entering directory" not in done.stdout  # As one make says of another that it starts.
    assert f"`{target}`" in README or f"make {target}" in README


def test_another_python_than_3_11_is_refused_with_a_message(tmp_path: Path) -> None:
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    command = ["/usr/bin/env", "make", "setup", "PYTHON=/no/such/python"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "'/no/such/python' is no Python 3.11; install it, or name one: make setup PYTHON=" in done.stderr
    assert not (tmp_path / ".venv").exists()


@pytest.mark.parametrize("path", sorted((ROOT / "configs").glob("*.yaml")), ids=lambda path: path.name)
def test_every_config_loads(path: Path) -> None:
    from app.config.load import load  # noqa: PLC0415

    assert load(path).run.project


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Ray's own use of pydantic.
def test_serves_config_is_one_and_names_a_config_that_loads() -> None:
    from ray.serve.schema import ServeDeploySchema  # noqa: PLC0415

    from app.config.load import load  # noqa: PLC0415
    from deployments.build import BuilderArgs  # noqa: PLC0415

    config = ServeDeploySchema.model_validate(yaml.safe_load((ROOT / "serve_config.yaml").read_text()))
    (application,) = config.applications
    assert application.import_path == "deployments.build:build"
    args = BuilderArgs.model_validate(application.args)
    assert load(ROOT / args.config, args.set).run.mode == "train"


def test_serve_can_validate_the_builders_arguments() -> None:
    from deployments.build import BuilderArgs, build  # noqa: PLC0415

    (argument,) = inspect.signature(build).parameters.values()
    assert argument.annotation is BuilderArgs  # Text, as of postponed annotations, would hand a plain dict through.


def test_the_pins_that_matter() -> None:
    assert PINS["torch"] == "2.13.0"
    assert tuple(map(int, PINS["numpy"].split(".")[:2])) < (2, 5)
    assert "torch==2.13.0" in PROJECT["project"]["optional-dependencies"]["server"]
    assert [pin for pin, version in PINS.items() if not re.fullmatch(r"\d[\w.]*", version)] == []


def test_every_dependency_is_pinned() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    wanted = [*PROJECT["project"]["dependencies"], *extras["server"], *extras["games"], *extras["dev"], *extras["docs"]]
    wanted += extras["cli"]
    names = {normal(match[0]) for item in wanted if (match := re.match(r"[\w.-]+", item))} - {"sparring"}
    assert names - {normal(name) for name in PINS} == set()


def test_the_licence_is_the_apache_licence_as_the_package_says() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License" in text
    assert "Version 2.0, January 2004" in text
    assert "END OF TERMS AND CONDITIONS" in text
    assert PROJECT["project"]["license"] == "Apache-2.0"


def test_ci_runs_what_contributors_run() -> None:
    script = ROOT / ".ci/run"
    assert script.stat().st_mode & 0o111
    assert re.findall(r"^make (\w+)$", script.read_text(), re.MULTILINE) == ["setup", "lint", "test"]
    subprocess.run(["/bin/bash", "-n", str(script)], check=True)


@pytest.fixture(scope="module")
def lanes() -> list[tuple[str, str]]:
    """Selection of each of pytest's runs under ``make test``, and the words behind it."""
    done = subprocess.run(["/usr/bin/env", "make", "-n", "test"], cwd=ROOT, capture_output=True, text=True, check=True)
    return re.findall(r'pytest -m "([^"]+)" (.*)', done.stdout)


@pytest.mark.parametrize(("mark", "folder"), [(mark, at) for mark, folders in FOLDERS.items() for at in folders])
def test_make_test_looks_for_a_mark_in_each_folder_that_may_hold_it(
    lanes: list[tuple[str, str]], mark: str, folder: str
) -> None:
    marks = {mark, "ray"} if folder == "ring" else {mark}
    selections = [selection for selection, words in lanes if f"tests/{folder}" in words.split()]
    assert any(Expression.compile(selection).evaluate(lambda name, /, **_: name in marks) for selection in selections)


def test_a_job_uploads_neither_environment_nor_history() -> None:
    ignored = (ROOT / ".rayignore").read_text().split()
    assert {".venv", ".git", "__pycache__"} <= set(ignored)
