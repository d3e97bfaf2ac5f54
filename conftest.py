"""Fixtures for every test folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


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
