"""One service for the tests that do not stop it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("starlette", reason="the service needs the extra `serve`")
pytest.importorskip("uvicorn", reason="the service needs the extra `serve`")

from service_process import ServiceProcess


@pytest.fixture(scope="session")
def service() -> Iterator[ServiceProcess]:
    running = ServiceProcess(
        "--body-timeout", "2", "--max-bytes", "200000", "--max-rows", "16", "--max-characters", "9000"
    )
    yield running
    assert running.stop() == 0
