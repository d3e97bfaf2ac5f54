"""Many rows on a cluster of two nodes of this machine, with a node killed and then the driver: is each row there once?

    python benchmarks/on_ray.py [--rows 1000000] [--metric response-length --metric distinct-1]
    python benchmarks/on_ray.py --rows 20000 --metric task:summarization:fast

`quintet score --ray` is begun; after a fifth of its parts one node is killed, after two fifths the command itself.
The node is started again and so is the command. What then stands in the parts is held against the input: every row
once and in order, no part that was there written anew, and the first rows as one process scores them.
Ends with status 1 where something of this does not hold. Needs the extra `ray`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from made_up import items, machine

SAMPLE = 256
"""Rows that one process scores as well: whole chunks from the beginning."""


def write_rows(path: Path, rows: int, long: bool) -> None:
    """For metrics without models short rows, for the others documents with four outputs each."""
    with path.open("w", encoding="utf-8") as file:
        if not long:
            for k in range(rows):
                file.write(f'{{"id": "{k}", "output": "row {k} of many rows with a few words of text in it"}}\n')
            return
        for k, item in enumerate(items(rows)):
            assert item.example is not None
            row = {"id": str(k), "output": item.example.output, "source": item.example.source}
            file.write(json.dumps(row) + "\n")


def asked(metrics: list[str]) -> list[str]:
    words = []
    for name in metrics:
        kind, _, rest = name.partition(":")
        task, _, fast = rest.partition(":")
        words += ["--task", task, *(["--fast"] if fast else [])] if kind == "task" else ["--metric", name]
    return words


class Run:
    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def until(self, folder: Path, parts: int) -> None:
        while len(list(folder.glob("part-*"))) < parts and self.process.poll() is None:
            time.sleep(0.02)

    def end(self) -> str:
        return self.process.communicate()[0]


def held(folder: Path, rows: int) -> tuple[bool, dict[str, Any]]:
    """Whether the parts of the manifest hold every id once and in order."""
    told = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    expected = 0
    for part in told["parts"]:
        with (folder / part["name"]).open(encoding="utf-8") as file:
            for line in file:
                if json.loads(line)["id"] != str(expected):
                    print(f"{part['name']}: row {expected} is not where it should be")
                    return False, told
                expected += 1
    strays = {path.name for path in folder.glob("part-*")} - {part["name"] for part in told["parts"]}
    print(f"{expected:,} rows in {len(told['parts'])} parts, each once and in order; parts beside them: {len(strays)}")
    return expected == rows == told["rows"] and not strays, told


def first_rows(file: Path, words: list[str], folder: Path, told: dict[str, Any]) -> bool:
    """Whether one process writes the same bytes for the first rows."""
    few, alone = file.with_name("few.jsonl"), file.with_name("alone.jsonl")
    with file.open(encoding="utf-8") as whole:
        few.write_text("".join(line for _, line in zip(range(SAMPLE), whole, strict=False)), encoding="utf-8")
    command = [sys.executable, "-m", "quintet", "score", str(few), *words, "--no-cache", "--out", str(alone)]
    subprocess.run(command, check=True, capture_output=True)
    wanted = alone.read_bytes()
    found = b"".join((folder / part["name"]).read_bytes() for part in told["parts"][:1])
    same = found[: len(wanted)] == wanted
    said = "the same bytes" if same else "OTHER BYTES"
    print(f"the first {SAMPLE} rows: {said} as in one process")
    return same


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--metric", action="append", default=[])
    parser.add_argument("--nodes", type=int, default=2)
    given = parser.parse_args()
    metrics = given.metric or ["response-length", "distinct-1"]
    os.environ["RAY_ENABLE_UV_RUN_RUNTIME_ENV"] = "0"
    from ray.cluster_utils import Cluster

    print(f"{given.rows:,} rows, {', '.join(metrics)}; {given.nodes} nodes of one core; {machine()}", flush=True)
    with tempfile.TemporaryDirectory() as place:
        file, folder, words = Path(place) / "in.jsonl", Path(place) / "out", asked(metrics)
        write_rows(file, given.rows, words[0] == "--task")
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        nodes = [cluster.add_node(num_cpus=1) for _ in range(given.nodes - 1)]
        engine = ["--ray", "--engine", f"ray:{cluster.address}", "--out", str(folder)]
        command = [sys.executable, "-m", "quintet", "score", str(file), *words, *engine]
        try:
            parts = max(5, given.rows // 1024)
            began, first = time.monotonic(), Run(command)
            first.until(folder, parts // 5)
            cluster.remove_node(nodes.pop(), allow_graceful=False)
            print(f"{time.monotonic() - began:7.1f} s  a node killed at {len(list(folder.glob('part-*')))} parts")
            first.until(folder, parts * 2 // 5)
            first.process.kill()
            first.end()
            before = {path.name: path.stat().st_mtime_ns for path in folder.glob("part-*")}
            print(f"{time.monotonic() - began:7.1f} s  the driver killed at {len(before)} parts", flush=True)
            cluster.add_node(num_cpus=1)
            resumed, second = time.monotonic(), Run(command)
            said = second.end()
            spent = time.monotonic() - resumed
            if second.process.returncode:
                print(said)
                return 1
        finally:
            cluster.shutdown()
        print(f"resumed and ended in {spent:.1f} s: {(given.rows - 1024 * len(before)) / spent:,.0f} rows a second")
        print("\n".join(line for line in said.splitlines() if "were there already" in line))
        anew = [name for name, then in before.items() if (folder / name).stat().st_mtime_ns != then]
        print(f"parts that were there and were written again: {len(anew)}")
        whole, told = held(folder, given.rows)
        same = first_rows(file, words, folder, told)
    return 0 if whole and same and not anew else 1


if __name__ == "__main__":
    sys.exit(main())
