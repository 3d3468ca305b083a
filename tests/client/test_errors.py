import re
from pathlib import Path

import pytest

from app.client import errors
from app.client.errors import ClientError, StepFailedError, failure_of

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
CODES = re.findall(r"^\| `(\w+)` \| \d{3}", README.partition("## Errors")[2], re.MULTILINE)


@pytest.mark.parametrize("code", CODES)
def test_every_code_of_the_contract_has_a_class(code: str) -> None:
    failure = failure_of(code, "why", 400)
    assert type(failure).__name__ == code.removesuffix("_error").title().replace("_", "") + "Error"
    assert (failure.code, failure.message, failure.status) == (code, "why", 400)
    assert str(failure) == f"the service answered {code} (400): why"


def test_a_code_of_a_newer_service_is_a_failed_step() -> None:
    assert type(failure_of("teapot", "why")) is StepFailedError


def test_all_errors_are_one_tree() -> None:
    found = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Exception)]
    assert [error for error in found if not issubclass(error, ClientError) and error.__name__ != "SparringError"] == []
