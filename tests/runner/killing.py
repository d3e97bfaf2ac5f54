"""SIGKILL at random points of a real run, and the run taken up again: shared by the test and benchmarks/kills.py."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

METRICS = ["bertscore-f:model=fake:embedder", "gruen-redundancy"]
WORDS = ("council", "river", "bridge", "dog", "market", "storm", "minister", "school", "report", "player", "city")


@dataclass(frozen=True)
class Outcome:
    kills: int
    finished: int
    """Runs that were done before their kill came; the next one began with an empty store."""
    wrong: int
    """Finished runs whose file differs from that of an undisturbed run, or whose store has not each result once."""
    kept: int
    """Kills after which the store already held results."""


def write_rows(path: Path, rows: int, seed: int = 0) -> Path:
    """Made-up outputs with references; no two rows are equal."""
    chance = random.Random(seed)
    with path.open("w") as file:
        for number in range(rows):
            output, reference = (
                " ".join(
                    " ".join([*chance.choices(WORDS, k=6), str(number)]).capitalize() + "." for _ in range(sentences)
                )
                for sentences in (2, 1)
            )
            file.write(json.dumps({"id": str(number), "output": output, "references": [reference]}) + "\n")
    return path


def command(rows: Path, store: Path, out: Path, *more: str) -> list[str]:
    named = [part for metric in METRICS for part in ("--metric", metric)]
    options = ["--cache", str(store), "--out", str(out), *more]
    return [sys.executable, "-m", "quintet", "score", str(rows), *named, *options]


def stored(store: Path) -> int:
    if not store.exists():
        return 0
    try:
        with sqlite3.connect(store) as database:
            return int(database.execute("SELECT count(*) FROM results").fetchone()[0])
    except sqlite3.OperationalError:  # killed before the table was made
        return 0


def kill_and_resume(folder: Path, kills: int, rows: int = 2000, seed: int = 0, more: tuple[str, ...] = ()) -> Outcome:
    chance = random.Random(seed)
    file = write_rows(folder / "in.jsonl", rows)
    start = time.monotonic()
    subprocess.run(command(file, folder / "whole.sqlite", folder / "whole.jsonl"), check=True, capture_output=True)
    whole = time.monotonic() - start
    expected = (folder / "whole.jsonl").read_bytes()
    results = stored(folder / "whole.sqlite")
    store, out = folder / "killed.sqlite", folder / "killed.jsonl"
    done = finished = wrong = kept = 0
    while True:
        process = subprocess.Popen(
            command(file, store, out, *more), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env={**os.environ}
        )
        try:
            wait = chance.uniform(0.2, 1.0) * whole if done < kills else 300.0
            _, said = process.communicate(timeout=wait)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            done += 1
            kept += stored(store) > 0
            continue
        if process.returncode:
            raise RuntimeError(said.decode())
        finished += 1
        wrong += out.read_bytes() != expected or stored(store) != results
        if done >= kills:
            return Outcome(done, finished, wrong, kept)
        for path in (out, *folder.glob("killed.sqlite*")):
            path.unlink()
