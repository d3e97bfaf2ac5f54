"""Runs are kept, listed, shown, compared and used as baselines; the cache is listed and cleared."""

import json
import os
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

from test_cli_score import one_line, quintet, write_jsonl

METRIC = ["--metric", "gruen-redundancy"]
CLEAN = [{"id": str(k), "output": f"The council met. Item {k} was the bridge."} for k in range(8)]
REPEATED = [{**row, "output": "The dog ran home. The dog ran home."} for row in CLEAN]


def git(folder: Path, *arguments: str) -> None:
    nobody = {f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, env={**os.environ, **nobody})


def scored(folder: Path, rows: list[dict[str, Any]], *more: str) -> None:
    run = quintet("score", write_jsonl(folder / "in.jsonl", rows), *METRIC, *more, cwd=folder)
    assert run.returncode == 0, run.stderr


def test_runs_are_listed_shown_compared_and_followed(tmp_path: Path) -> None:
    assert "no run is kept here yet" in quintet("history", cwd=tmp_path).stderr
    one_line(quintet("show", "@-1", cwd=tmp_path), "no run is kept here yet")
    scored(tmp_path, CLEAN)
    scored(tmp_path, REPEATED)
    scored(tmp_path, CLEAN, "--no-cache")
    runs = json.loads(quintet("history", "-f", "json", cwd=tmp_path).stdout)
    assert [run["number"] for run in runs] == [1, 2], "--no-cache keeps nothing"
    assert [run["columns"]["gruen-redundancy"]["mean"] for run in runs] == [0.0, -0.4]
    listed = quintet("history", cwd=tmp_path).stdout
    assert "in.jsonl" in listed
    assert "gruen-redundancy -0.400" in listed
    trend = quintet("history", "--trend", "gruen-redundancy", cwd=tmp_path).stdout
    assert "-0.400" in trend
    one_line(quintet("history", "--trend", "fluency", cwd=tmp_path), "unknown dimension of a kept run 'fluency'")
    shown = quintet("show", "@-1", cwd=tmp_path).stdout
    assert "run 2: gruen-redundancy" in shown
    assert "|v:" in shown, "the signature"
    rows = json.loads(quintet("show", "1", "-f", "json", cwd=tmp_path).stdout)["scores"]
    assert rows[3] == {"id": "3", "gruen-redundancy": 0.0}
    compared = json.loads(quintet("compare", "@-1", "@-2", "-f", "json", cwd=tmp_path).stdout)
    assert json.dumps(compared).count("-0.4")
    one_line(quintet("show", "@-9", cwd=tmp_path), "there is no run @-9")
    one_line(quintet("show", "last-on-main", cwd=tmp_path), "unknown branch of a kept run 'main'")


def test_texts_are_not_kept(tmp_path: Path) -> None:
    scored(tmp_path, REPEATED)
    assert b"dog ran" not in (tmp_path / "cache" / "runs.sqlite").read_bytes()
    (packed,) = sqlite3.connect(tmp_path / "cache" / "runs.sqlite").execute("SELECT scores FROM runs").fetchone()
    import zlib

    assert b"dog ran" not in zlib.decompress(packed)


def test_the_last_run_on_main_is_a_baseline(tmp_path: Path, monkeypatch: Any) -> None:
    for name in ("GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_BRANCH", "GITHUB_SHA", "CI_COMMIT_SHA"):
        monkeypatch.delenv(name, raising=False)
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "one")
    scored(tmp_path, CLEAN)
    git(tmp_path, "checkout", "-q", "-b", "other")
    new = write_jsonl(tmp_path / "new.jsonl", REPEATED)
    gate = ["--max-drop", "gruen-redundancy=0.1", "--baseline", "last-on-main"]
    run = quintet("gate", new, *METRIC, *gate, cwd=tmp_path)
    assert run.returncode == 3, run.stderr
    assert "gruen-redundancy changed by -0.400" in run.stderr
    history = quintet("history", cwd=tmp_path).stdout
    assert "main@" in history
    assert "other@" in history, "what a gate scores is a run as well"
    same = quintet("gate", tmp_path / "in.jsonl", *METRIC, *gate, cwd=tmp_path)
    assert same.returncode == 0, same.stderr


def test_the_cache_is_listed_and_cleared(tmp_path: Path) -> None:
    for _ in range(3):
        scored(tmp_path, CLEAN)
    listed = quintet("cache", cwd=tmp_path).stdout
    assert "8 results" in listed
    assert "3 runs" in listed
    assert quintet("cache", "--clear", "runs", "--keep", "1", cwd=tmp_path).stdout == "2 runs thrown away\n"
    assert quintet("cache", "--clear", "results", cwd=tmp_path).stdout == "8 results thrown away\n"
    assert json.loads(quintet("history", "-f", "json", cwd=tmp_path).stdout)[0]["number"] == 3
    one_line(quintet("cache", "--clear", "it", cwd=tmp_path), "unknown part of the cache 'it'")


def test_a_store_of_a_newer_quintet_or_of_others_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    other = sqlite3.connect(tmp_path / "cache" / "runs.sqlite")
    other.execute("CREATE TABLE mine (x)")
    other.commit()
    other.close()
    scored(tmp_path, CLEAN)
    one_line(quintet("history", cwd=tmp_path), "a database, but not one of runs")


def test_files_of_texts_are_compared_once_a_task_or_metric_is_named(tmp_path: Path) -> None:
    old, new = write_jsonl(tmp_path / "old.jsonl", CLEAN), write_jsonl(tmp_path / "new.jsonl", REPEATED)
    one_line(quintet("compare", old, new, cwd=tmp_path), "no column of scores", "pass --task to score texts now")
    run = quintet("compare", new, old, *METRIC, "-f", "json", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert "-0.4" in run.stdout
    one_line(quintet("compare", new, *METRIC, cwd=tmp_path), "one file to score")
