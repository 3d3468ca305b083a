"""The generated module says what the .proto file says."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PROTO = "app/games/arena/arena.proto"


@pytest.mark.parametrize("name", ["arena_pb2.py", "arena_pb2.pyi"])
def test_the_messages_are_generated_from_the_proto_file(name: str, tmp_path: Path) -> None:
    words = ["-m", "grpc_tools.protoc", "-I.", f"--python_out={tmp_path}", f"--pyi_out={tmp_path}", PROTO]
    subprocess.run([sys.executable, *words], cwd=ROOT, check=True)
    generated = (tmp_path / "app/games/arena" / name).read_text()
    assert generated == (ROOT / "app/games/arena" / name).read_text(), f"run: python {' '.join(words[:3])} … {PROTO}"
