"""What the processes of a training run import: each of them is waited for before the first update."""

import subprocess
import sys

PROGRAM = """
import sys
for modules, spared in (
    (("app.stores.trial", "app.league.league"), {"torch", "scipy", "mlflow"}),
    (("train.data", "train.sources.stream"), {"torch", "ray.train"}),  # A read task.
    (("train.inputs", "train.own_streams"), {"torch"}),  # Ray Train's manager of datasets.
    (("train.network", "train.loop_args"), {"train.worker", "sympy"}),  # Ray Train's controller.
):
    for module in modules:
        __import__(module)
    assert not spared & set(sys.modules), (modules, spared & set(sys.modules))
"""


def test_a_process_imports_no_more_than_it_uses() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
