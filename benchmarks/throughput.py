"""Items a second for each metric that works without a download, on made-up items of SummEval's shape.

    python benchmarks/throughput.py [--rows 64] [--metric NAME ...]

One process, nothing known from before, models opened before the clock starts. A metric whose model is not on this
machine is named and left out.
"""

from __future__ import annotations

import argparse
import time

from made_up import items, machine

from quintet import _api as api
from quintet.core.options import Options
from quintet.errors import QuintetError
from quintet.metrics import metrics as registry


def items_per_second(name: str, rows: int) -> float:
    plan = api.make_plan(Options(metrics=name))
    for seed in (1, 0):  # the first pass, of two rows, opens and warms
        count = rows if seed == 0 else 2
        batch = list(items(count, seed=seed))
        start = time.perf_counter()
        done = sum(1 for _ in api.stream(plan, batch, api.open_store(False)))
        taken = time.perf_counter() - start
    return done / taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--metric", action="append")
    given = parser.parse_args()
    print(machine())
    for name in given.metric or [entry.name for entry in registry]:
        try:
            print(f"{name:28s} {items_per_second(name, given.rows):10.1f} items/s", flush=True)
        except QuintetError as error:
            print(f"{name:28s} left out: {str(error)[:80]}", flush=True)


if __name__ == "__main__":
    main()
