"""A release runs without Python: the examples in C++ and C# check themselves."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from app.models.export.graph import export_graph
from app.models.export.precision import released
from app.models.export.release import Release, write_release
from app.models.export.report import verify
from app.models.export.samples import random_samples
from app.models.module import spec_of, to_arrays
from tests.models.export.networks import NestedPolicy, seeded

pytestmark = pytest.mark.cpp

LIBRARY = Path(onnxruntime.__file__).parent / "capi" / f"libonnxruntime.so.{onnxruntime.__version__}"


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, module = tmp_path_factory.mktemp("native") / "release", seeded(NestedPolicy)
    spec, asked = spec_of(module), random_samples(spec_of(module), 20, 1)
    proto = released(export_graph(module), to_arrays(module), spec, "fp32", None)
    write_release(folder, Release(proto, spec, verify(module, proto, asked, "fp32", "1.1", 1.0, "game.main"), asked))
    return folder


def done(*command: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=240, check=False)


@pytest.fixture(scope="module")
def example(release: Path) -> Path:
    if shutil.which("cmake") is None:
        pytest.skip("cmake is not installed here")
    build = release.parent / "build"
    configured = done("cmake", "-S", release, "-B", build, f"-DONNXRUNTIME_LIBRARY={LIBRARY}")
    assert configured.returncode == 0, configured.stderr
    built = done("cmake", "--build", build)
    assert built.returncode == 0, built.stdout + built.stderr
    return build / "example"


def test_the_example_answers_all_samples_as_they_were_recorded(release: Path, example: Path) -> None:
    ran = done(example, release)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    lines = ran.stdout.splitlines()
    assert [line.split(":")[0] for line in lines] == [
        "ok   dist_inputs/move",
        "ok   dist_inputs/skill",
        "ok   value",
        "ok   next_state/hidden",
        "ok   next_state/ticks",
    ]
    assert all("5 rows" in line for line in lines)


def test_a_wrong_sample_is_found(release: Path, example: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(release, tmp_path / "copy"))
    wrong = np.fromfile(copy / "samples" / "output_2.bin", "<f4")
    wrong[3] += 0.01
    wrong.tofile(copy / "samples" / "output_2.bin")
    ran = done(example, copy)
    assert ran.returncode == 1
    assert "FAIL value: 5 rows, largest error 0.0" in ran.stdout
    (copy / "samples" / "input_1.bin").write_bytes(b"\0" * 7)
    assert done(example, copy).returncode == 2
    (copy / "model.onnx").unlink()
    ran = done(example, copy)
    assert (ran.returncode, "cannot read" in ran.stderr) == (2, True)


def test_the_build_says_what_it_needs(release: Path, tmp_path: Path) -> None:
    configured = done("cmake", "-S", release, "-B", tmp_path)
    assert configured.returncode != 0
    assert "ONNXRUNTIME_LIBRARY is ''" in configured.stderr


@pytest.mark.skipif(shutil.which("dotnet") is None, reason="dotnet is not installed here")
def test_the_example_in_csharp_answers_all_samples(release: Path) -> None:
    ran = done("dotnet", "run", "--project", release / "csharp", "--", release)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "ok   value" in ran.stdout
