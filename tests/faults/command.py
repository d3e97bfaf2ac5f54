"""The command as people run it, for the tests beside it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

METRIC = ("--metric", "response-length")


def quintet(*arguments: str | Path, cwd: Path, **more: object) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "QUINTET_CACHE": str(cwd / "cache"), **more.pop("env", {})}  # type: ignore[dict-item]
    done = subprocess.run(
        [sys.executable, "-m", "quintet", *map(str, arguments)], cwd=cwd, capture_output=True, env=environment,
        timeout=600, **more,  # type: ignore[call-overload]
    )  # fmt: skip
    out, err = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
    assert "Traceback" not in err, err
    assert "internal error" not in err, err
    return subprocess.CompletedProcess(done.args, done.returncode, out, err)


def refused(run: subprocess.CompletedProcess[str], *parts: str) -> None:
    assert run.returncode == 2, (run.returncode, run.stdout, run.stderr)
    last = run.stderr.splitlines()[-1]
    assert last.startswith("quintet: ")
    assert len(run.stderr) < 3000
    for part in parts:
        assert part in last
