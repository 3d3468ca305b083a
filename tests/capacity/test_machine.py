from pathlib import Path

import pytest

from app.capacity.machine import read_machine
from app.errors import PlanError

GOOD = "{name: big, cores: 32, memory_gb: 128, network_gbit_s: 25, price_per_hour: 1.5}"


def file(folder: Path, text: str) -> Path:
    path = folder / "machine.yaml"
    path.write_text(text)
    return path


def test_a_machine_is_read(tmp_path: Path) -> None:
    machine = read_machine(file(tmp_path, GOOD))
    assert (machine.name, machine.usable_cores, machine.gpus, machine.currency) == ("big", 31, 0, "EUR")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{cores: 0, memory_gb: 1, network_gbit_s: 1, price_per_hour: 1}", "cores: Input should be greater than"),
        ("{cores: 2}", "memory_gb: Field required; .*allowed keys: name, cores"),
        (GOOD.replace("cores", "cpus"), "cpus: Extra inputs are not permitted"),
        ("", "the file: Input should be a valid"),
        ("{", "cannot be read"),
        (GOOD.replace("32", "1"), "of 1 cores the system keeps 1"),
    ],
)
def test_a_wrong_machine_is_told(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=f"machine.yaml: .*{message}"):
        read_machine(file(tmp_path, text))


def test_a_machine_without_a_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"none.yaml: cannot be read"):
        read_machine(tmp_path / "none.yaml")
