"""One service over its game port and over Serve's own port."""

import httpx
import pytest

from .service import Service, observation

pytestmark = [pytest.mark.ray, pytest.mark.timeout(120)]


def test_ready(service: Service) -> None:
    assert service.http.get("/readyz").status_code == 200
