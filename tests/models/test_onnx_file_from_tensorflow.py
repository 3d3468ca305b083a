"""The commands of docs/export.md make a file of a model of TensorFlow, which serves: in an environment of its own."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from app.models.module import build_module
from app.models.torch_engine import TorchEngine
from tests.docs.blocks import block_of

INSTALL_S = 1500.0
KERAS = """
import keras, numpy
image = keras.Input((4, 4, 3), name="image")
seen = keras.layers.Flatten()(keras.layers.Conv2D(2, 3, activation="relu")(image))
model = keras.Model(image, keras.layers.Dense(5)(seen))
model.export("pilot/")
asked = numpy.random.default_rng(0).random((7, 4, 4, 3), dtype=numpy.float32)
numpy.savez("known.npz", asked=asked, answered=model.predict(asked))
"""
"""What a reader has: a model, saved as the page says."""


@pytest.mark.e2e
@pytest.mark.long
@pytest.mark.timeout(1800)
def test_the_commands_of_the_page_make_a_file_that_answers_as_the_model_does(tmp_path: Path) -> None:
    install, convert = block_of("docs/export.md", "tensorflow-cpu").text.splitlines()
    subprocess.run([sys.executable, "-m", "venv", "env"], cwd=tmp_path, check=True)
    (tmp_path / "model.py").write_text(KERAS)
    for line in (install, "python model.py", convert):
        active = f"export PATH={tmp_path / 'env' / 'bin'}:$PATH\n{line}"
        done = subprocess.run(
            ["/bin/bash", "-euc", active], cwd=tmp_path, capture_output=True, text=True, timeout=INSTALL_S, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    known = np.load(tmp_path / "known.npz")
    running = TorchEngine(build_module("app.models.onnx_file:load", {"path": str(tmp_path / "pilot.onnx")}, seed=0))
    (answered,) = running.forward([known["asked"]]).outputs
    np.testing.assert_allclose(answered, known["answered"], rtol=1e-4, atol=1e-5)
