"""Debian's kubectl, or a newer one, before the API server of the tests."""

import json
import os
import shutil
from pathlib import Path

import pytest

needs_kubectl = pytest.mark.skipif(
    shutil.which("kubectl") is None and not os.environ.get("CI"),
    reason="kubectl is missing: apt-get install kubernetes-client",
)
"""Where it is missing the test is left out, but in CI it fails."""


def kubeconfig(path: Path, url: str) -> Path:
    """Writes a file that leads kubectl to a cluster, and nowhere else."""
    context = {"name": "tests", "context": {"cluster": "tests", "user": "tests"}}
    told = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "tests", "cluster": {"server": url}}],
        "users": [{"name": "tests", "user": {}}],
        "contexts": [context],
        "current-context": "tests",
    }
    path.write_text(json.dumps(told))
    return path
