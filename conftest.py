"""Fixtures for every test folder."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parent
SLOW = (
    "tests/test_commands.py",
    "tests/test_site.py",
    "tests/doors/report/test_report_in_browser.py",
    "tests/doors/server/test_page_in_browser.py",
    "tests/doors/server/test_service_fuzzed.py",
    "tests/doors/server/test_service_under_load.py",
    "tests/faults/test_endless_texts.py",
    "tests/faults/test_service_under_attack.py",
    "tests/metrics/test_bundled_agreement.py",
    "tests/runner/test_on_ray.py",
    "tests/stats/test_agreement_script.py",
    "training/tests",
)
"""Every fence of the documentation, browsers, load, clusters, recipes: run where they are named, and by --slow."""


with contextlib.suppress(ImportError):
    # A machine that is busy makes an example slow; it makes nothing wrong.
    from hypothesis import HealthCheck, settings

    settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("busy")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="the slow tests as well, as .ci/run does")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    arguments = [ROOT / argument.partition("::")[0] for argument in config.invocation_params.args]
    named = {path for path in arguments if path.is_file()}
    for item in items:
        if any(item.path.is_relative_to(ROOT / place) for place in SLOW):
            item.add_marker(pytest.mark.slow)
    if config.getoption("--slow") or config.getoption("-m"):
        return
    left = [item for item in items if item.get_closest_marker("slow") and item.path not in named]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in left]


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with benchmarks, corpora and facts; tests that need it are skipped where it is absent."""
    named = os.environ.get("QUINTET_SHARED")
    folder = Path(named) if named else Path(__file__).resolve().parents[1] / "shared"
    if not (folder / "benchmarks").is_dir():
        pytest.skip(f"no benchmark files at {folder}; set QUINTET_SHARED to the folder that holds benchmarks/")
    return folder


@pytest.fixture(scope="session")
def pages_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the pages' snippets keep results: many score the same examples, in several test processes at once."""
    base = tmp_path_factory.getbasetemp()
    return (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "pages-cache"


@pytest.fixture(scope="session")
def benchmarks(shared: Path) -> Path:
    return shared / "benchmarks"
