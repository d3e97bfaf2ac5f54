"""examples/tour.sh does every job on the bundled files; `.ci/run` runs it as well."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TOUR = Path(__file__).parents[3] / "examples" / "tour.sh"


@pytest.mark.slow
def test_the_tour_ends_well(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "quintet"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m quintet "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    run = subprocess.run(
        ["bash", str(TOUR), str(tmp_path / "out")], capture_output=True, text=True, env={**os.environ, "PATH": path}
    )
    assert run.returncode == 0, run.stderr[-2000:]
    assert run.stdout.endswith("the tour is over\n")
    for name in ("summaries.html", "rag.jsonl", "turns.csv", "sessions.csv", "preferred.jsonl", "calibration.json"):
        assert (tmp_path / "out" / name).stat().st_size > 0, name
