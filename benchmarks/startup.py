"""How long until the door opens? Medians of several starts, each in a process of its own.

python benchmarks/startup.py [--times 5]
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from made_up import items, machine


def median_seconds(command: list[str], times: int) -> tuple[float, float]:
    """By the wall clock, and of the processor, which other work on the machine disturbs less."""
    wall, processor = [], []
    for _ in range(times):
        start, before = time.perf_counter(), used()
        subprocess.run(command, check=True, capture_output=True)
        wall.append(time.perf_counter() - start)
        processor.append(used() - before)
    return statistics.median(wall), statistics.median(processor)


def used() -> float:
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=5)
    times = parser.parse_args().times
    print(machine())
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "one.jsonl"
        example = next(items(1)).example
        assert example is not None
        row = {"output": example.output, "source": example.source, "references": example.references}
        file.write_text(json.dumps(row) + "\n")
        quintet = [sys.executable, "-m", "quintet"]
        score = [*quintet, "score", str(file), "--cache", f"{folder}/store.sqlite"]
        rows = {
            "python itself": [sys.executable, "-c", "pass"],
            "import quintet": [sys.executable, "-c", "import quintet"],
            "quintet --version": [*quintet, "--version"],
            "quintet score --help": [*quintet, "score", "--help"],
            "one row, no model (gruen-redundancy)": [*score, "-m", "gruen-redundancy", "--no-cache"],
            "one row, bundled encoder (ctc-consistency)": [*score, "-m", "ctc-consistency", "--no-cache"],
            "the same, known from before": [*score, "-m", "ctc-consistency"],
            "one row, four dimensions, --fast": [*score, "--task", "summarization", "--fast", "--no-cache"],
            "one row, four dimensions, all signals": [*score, "--task", "summarization", "--no-cache"],
            "the same, known": [*score, "--task", "summarization"],
        }
        for name, command in rows.items():
            if "known" in name:  # the run that makes it known is not measured
                subprocess.run(command, check=True, capture_output=True)
            wall, processor = median_seconds(command, times)
            print(f"{name:45s} {wall:6.2f} s {processor:6.2f} s cpu", flush=True)


if __name__ == "__main__":
    main()
