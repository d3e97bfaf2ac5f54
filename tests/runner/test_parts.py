"""Scoring in parts: the rows that one machine writes, each once, whoever is killed and whatever was there before."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from quintet import _api as api
from quintet.errors import InputError
from quintet.io.remote import Folder, is_url
from quintet.runner import parts as in_parts

METRICS = ["response-length", "distinct-1"]


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    file = tmp_path / "in.jsonl"
    lines = [json.dumps({"id": str(k), "output": f"row number {k} é", "more": [k]}) for k in range(2500)]
    lines[77] = "{broken"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def one_file(rows: Path, tmp_path: Path) -> bytes:
    from typer.testing import CliRunner

    from quintet.cli.app import app

    how = [arg for name in METRICS for arg in ("--metric", name)]
    out = tmp_path / "one.jsonl"
    run = CliRunner().invoke(app, ["score", str(rows), *how, "--skip-bad", "--no-cache", "--out", str(out)])
    assert run.exit_code == 0, run.output
    return out.read_bytes()


def read(place: str) -> bytes:
    folder = Folder(place)
    told = json.loads(folder.read("manifest.json") or b"")
    return b"".join(folder.read(part["name"]) or b"" for part in told["parts"])


@pytest.mark.parametrize("kind", ["folder", "memory", "file"])
@pytest.mark.parametrize("workers", [1, 2])
def test_parts_hold_what_one_machine_writes(rows: Path, tmp_path: Path, kind: str, workers: int) -> None:
    if kind == "memory":
        pytest.importorskip("fsspec", reason="the extra ray brings fsspec")
        if workers > 1:
            pytest.skip("the memory of one process is none of another's")
    named = {"memory": f"memory://{tmp_path.name}/out", "file": str(tmp_path / "o.jsonl")}
    place = named.get(kind, str(tmp_path / "out"))
    seen: list[in_parts.Part] = []
    told = api.score_parts(rows, place, metrics=METRICS, skip_bad=True, workers=workers, on_part=seen.append)
    assert (told["rows"], len(seen), any(part.known for part in seen)) == (2500, 3, False)
    assert told["columns"]["response-length"]["rows"] == 2499
    assert told["columns"]["response-length"]["mean"] == 4.0
    if kind == "file":
        assert Path(place).read_bytes() == one_file(rows, tmp_path)
        assert sorted(os.listdir(tmp_path)) == ["in.jsonl", "o.jsonl", "one.jsonl"]
        return
    assert read(place) == one_file(rows, tmp_path)
    again: list[in_parts.Part] = []
    api.score_parts(rows, place, metrics=METRICS, skip_bad=True, on_part=again.append)
    assert [part.name for part in again] == [part.name for part in seen]
    assert all(part.known for part in again)


def test_addresses_may_be_read(rows: Path, tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec", reason="the extra ray brings fsspec")
    assert is_url("s3://a/b.jsonl")
    assert not is_url(str(rows))
    fsspec.filesystem("memory").pipe_file(f"/{tmp_path.name}/in.jsonl", rows.read_bytes())
    told = api.score_parts(f"memory://{tmp_path.name}/in.jsonl", str(tmp_path / "o"), metrics=METRICS, skip_bad=True)
    assert told["rows"] == 2500
    with pytest.raises(InputError, match="memory://nothing"):
        api.score_parts("memory://nothing/in.jsonl", str(tmp_path / "o"), metrics=METRICS)
    with pytest.raises(InputError, match="nosuchkind://"):
        api.score_parts("nosuchkind://x/in.jsonl", str(tmp_path / "o"), metrics=METRICS)


def test_a_driver_that_was_killed_is_gone_on_from(rows: Path, tmp_path: Path) -> None:
    place = tmp_path / "out"
    script = f"""
import os, signal
from quintet import _api as api
api.score_parts({str(rows)!r}, {str(place)!r}, metrics={METRICS!r}, skip_bad=True,
                on_part=lambda part: os.kill(os.getpid(), signal.SIGKILL))
"""
    killed = subprocess.run([sys.executable, "-c", script], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert not (place / "manifest.json").exists()
    seen: list[in_parts.Part] = []
    api.score_parts(rows, str(place), metrics=METRICS, skip_bad=True, on_part=seen.append)
    assert seen[0].known
    assert not all(part.known for part in seen)
    assert read(str(place)) == one_file(rows, tmp_path)


def test_damaged_and_foreign_parts_are_made_anew_or_removed(rows: Path, tmp_path: Path) -> None:
    place = tmp_path / "out"
    seen: list[in_parts.Part] = []
    api.score_parts(rows, str(place), metrics=METRICS, skip_bad=True, on_part=seen.append)
    whole = (place / seen[1].name).read_bytes()
    (place / seen[1].name).write_bytes(whole[: len(whole) // 2])
    (place / "part-000009-0123456789abcdef.jsonl").write_text("{}\n")
    (place / "notes.txt").write_text("mine")
    api.score_parts(rows, str(place), metrics=METRICS, skip_bad=True)
    assert (place / seen[1].name).read_bytes() == whole
    assert not (place / "part-000009-0123456789abcdef.jsonl").exists()
    assert (place / "notes.txt").read_text() == "mine"
    # Another metric, or another row, is another part.
    other: list[in_parts.Part] = []
    api.score_parts(rows, str(place), metrics=METRICS[:1], skip_bad=True, on_part=other.append)
    assert not {part.name for part in other} & {part.name for part in seen}
    assert sum(name.startswith("part-") for name in os.listdir(place)) == 3


def test_a_second_run_on_one_place_is_told_so(rows: Path, tmp_path: Path) -> None:
    script = f"""
import time
from quintet import _api as api
api.score_parts({str(rows)!r}, {str(tmp_path / "out")!r}, metrics={METRICS!r}, skip_bad=True,
                on_part=lambda part: (print("begun", flush=True), time.sleep(3600)))
"""
    first = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    try:
        assert first.stdout is not None
        first.stdout.readline()
        with pytest.raises(InputError, match="being written by another run"):
            api.score_parts(rows, str(tmp_path / "out"), metrics=METRICS, skip_bad=True)
    finally:
        first.kill()
        first.wait()
    assert api.score_parts(rows, str(tmp_path / "out"), metrics=METRICS, skip_bad=True)["rows"] == 2500


def test_what_parts_cannot_be_is_said(rows: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="parts are JSON Lines"):
        api.score_parts(rows, str(tmp_path / "o.csv"), metrics=METRICS)
    with pytest.raises(InputError, match="line 78"):
        api.score_parts(rows, str(tmp_path / "o"), metrics=METRICS)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="no folder"):
        api.score_parts(rows, str(tmp_path / "file"), metrics=METRICS, skip_bad=True)
