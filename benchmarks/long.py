"""How cost grows with the length of the source: processor time and peak memory an output, 1,000 to 100,000 words.

    python benchmarks/long.py [--words 1000 3000 10000 30000 100000] [--outputs 20] [--metric task:summarization]

A metric, or all dimensions of a task: `task:NAME`, `task:NAME:fast`. Each length is a process of its own with one
thread and no store; opening the models is left out. `alone` is the same source with one output: where the source is
read once for all its outputs, more outputs cost little more. Ends with status 1 where ten times the words cost more
than 11 times the time, or more than 3 times the memory.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from made_up import items, machine, sentence
from scaling import planned, processor_seconds

from quintet import _api as api
from quintet.core.example import Example
from quintet.core.item import Item
from quintet.runner.executors import THREADS

TIME, MEMORY = 11.0, 3.0


def long_items(words: int, outputs: int) -> Iterator[Item]:
    chance, source, count = random.Random(words), [], 0
    while count < words:
        source.append(sentence(chance, 20))
        count += 20
    text = " ".join(source)
    for number in range(outputs):
        said = " ".join(chance.choice(source) if k else sentence(chance, 20) for k in range(3))
        yield Item(Example(said, text, id=str(number), references=(source[0],), context=text, history=(source[0],)))


def child(setting: dict[str, Any]) -> None:
    plan, store = planned(setting["metric"]), api.open_store(False)
    list(api.stream(plan, items(2, seed=9), store))  # opens the models
    before = processor_seconds()
    rows = list(api.stream(plan, long_items(setting["words"], setting["outputs"]), store))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    notes = {flag for row in rows for score in row.scores.values() for flag in score.flags}
    print(json.dumps({"cpu": processor_seconds() - before, "peak": peak, "notes": sorted(notes)}))


def measured(**setting: Any) -> dict[str, Any]:
    environment = {**os.environ, **dict.fromkeys(THREADS, "1")}
    command = [sys.executable, __file__, "--child", json.dumps(setting)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        sys.exit(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", type=int, nargs="+", default=[1000, 3000, 10_000, 30_000, 100_000])
    parser.add_argument("--outputs", type=int, default=20)
    parser.add_argument("--metric", default="task:summarization")
    parser.add_argument("--child")
    given = parser.parse_args()
    if given.child:
        child(json.loads(given.child))
        return 0
    print(f"{given.metric}, {given.outputs} outputs of 60 words; {machine()}")
    print(f"{'words':>8} {'cpu s':>8} {'an output':>10} {'alone':>8} {'peak MB':>8}  against a tenth of the words")
    seen: dict[int, tuple[float, float]] = {}
    held = True
    for words in sorted(given.words):
        found = measured(metric=given.metric, words=words, outputs=given.outputs)
        alone = measured(metric=given.metric, words=words, outputs=1)["cpu"]
        seen[words] = (found["cpu"], found["peak"])
        line = f"{words:8,} {found['cpu']:8.2f} {found['cpu'] / given.outputs:10.3f} {alone:8.2f} {found['peak']:8.0f}"
        if words // 10 in seen:
            times, memory = (now / then for now, then in zip(seen[words], seen[words // 10], strict=True))
            held = held and times <= TIME and memory <= MEMORY
            line += f"  {times:.1f} times the time, {memory:.1f} times the memory"
        print(line, *(f"\n         {note}" for note in found["notes"]), flush=True)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
