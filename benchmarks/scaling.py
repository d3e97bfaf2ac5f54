"""How cost grows: rows x10, documents x8 as long, 1 to 16 outputs for a document, one and two workers; peak memory.

    python benchmarks/scaling.py [--metric task:summarization] [--rows 100] [--memory-rows 1000] [--part NAME ...]
    python benchmarks/scaling.py --part workers [--workers-metric NAME ...] [--workers-rows 512] [--repeats 1]

A metric, or all dimensions of a task: `task:NAME`, `task:NAME:fast`. Every measurement is a process of its own on
made-up items, without a store and with one thread, so that peaks do not mix and nothing is known from before. Ratios
are what counts: seconds depend on the machine and on what else it does.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from made_up import items, machine

from quintet import _api as api
from quintet.core.options import Options
from quintet.runner.executors import THREADS
from quintet.runner.plan import Plan

LIGHT = "gruen-redundancy"
"""The metric for measuring the carrier itself: many rows in little time."""


def child(setting: dict[str, Any]) -> None:
    """One measurement: seconds and the peak of this process in MB. `warm`: with the models open."""
    plan = planned(setting["metric"])
    executor = api.open_executor(setting["workers"])
    made = items(setting["rows"], setting["outputs"], setting["sentences"])
    if setting["warm"]:  # a session is opened by the first text that comes
        list(api.stream(plan, items(2, seed=9), api.open_store(False)))
    rows = api.stream(plan, made, api.open_store(False), executor=executor)
    start, before = time.perf_counter(), processor_seconds()
    done = sum(1 for _ in rows)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"rows": done, "seconds": seconds, "cpu": processor_seconds() - before, "peak": peak}))


def planned(metric: str) -> Plan:
    kind, _, name = metric.partition(":")
    if kind != "task":
        return api.make_plan(Options(metrics=metric))
    task, _, how = name.partition(":")
    return api.make_plan(Options(task=task, fast=how == "fast"))


def processor_seconds() -> float:
    """Of this process and of workers that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def measure(
    metric: str, rows: int, *, outputs: int = 4, sentences: int = 20, workers: int = 1, warm: bool = True
) -> dict[str, float]:
    setting = {"metric": metric, "rows": rows, "outputs": outputs, "sentences": sentences, "workers": workers}
    setting["warm"] = warm
    # One thread: a thread that waits for another burns processor time, and the second worker is to be the second core.
    environment = {**os.environ, **dict.fromkeys(THREADS, "1")}
    command = [sys.executable, __file__, "--child", json.dumps(setting)]
    found: dict[str, float] = json.loads(subprocess.check_output(command, env=environment, text=True))
    return found


def show(name: str, found: dict[str, float], base: dict[str, float], per_row: bool = False) -> None:
    """Ratios of the wall clock and of processor time, which other work on the machine disturbs less."""
    wall, cpu = (found[kind] / base[kind] for kind in ("seconds", "cpu"))
    if per_row:
        wall, cpu = (ratio * base["rows"] / found["rows"] for ratio in (wall, cpu))
    print(
        f"{name:34s} {found['seconds']:8.2f} s {found['cpu']:8.2f} s cpu {found['peak']:6.0f} MB   "
        f"{'per row' if per_row else 'in all'}: {wall:6.2f} (cpu {cpu:6.2f}) times the first",
        flush=True,
    )


def rows_x10(given: argparse.Namespace) -> None:
    base = measure(given.metric, given.rows)
    show(f"{given.rows} rows", base, base)
    show(f"{given.rows * 10} rows", measure(given.metric, given.rows * 10), base)


def memory(given: argparse.Namespace) -> None:
    base = measure(LIGHT, given.memory_rows)
    for rows in (given.memory_rows, given.memory_rows * 10, given.memory_rows * 100):
        found = measure(LIGHT, rows)
        show(f"{rows} rows ({LIGHT})", found, base)
        print(f"{'':34s} peak memory {found['peak'] / base['peak']:.3f} times the first")


def length(given: argparse.Namespace) -> None:
    base = measure(given.metric, given.rows, sentences=10)
    for times in (1, 2, 4, 8):
        found = base if times == 1 else measure(given.metric, given.rows, sentences=10 * times)
        show(f"documents of {200 * times} words", found, base, per_row=True)


def outputs(given: argparse.Namespace) -> None:
    rows = max(16, given.rows // 16 * 16)
    base = measure(given.metric, rows, outputs=1)
    for count in (1, 2, 4, 8, 16):
        found = base if count == 1 else measure(given.metric, rows, outputs=count)
        show(f"{count} outputs for a document", found, base, per_row=True)


def workers(given: argparse.Namespace) -> None:
    """One process and two workers in turns, the median of each. Opening the models is part of the time on both sides,
    starting the workers on theirs; processor time is that of all processes together."""
    for metric in given.workers_metric or (LIGHT, "bertscore-f", "task:summarization:fast"):
        rows = given.workers_rows * (16 if metric == LIGHT else 1)
        turns = [
            [measure(metric, rows, outputs=16, workers=count, warm=False) for count in (1, 2)]
            for _ in range(given.repeats)
        ]
        one, two = (median(side) for side in zip(*turns, strict=True))
        show(f"{metric}, {rows} rows: one process", one, one)
        show("  two workers, one thread each", two, one)
        print(f"{'':34s} two workers are {one['seconds'] / two['seconds']:.2f} times as fast (target 1.7)", flush=True)


def median(found: Sequence[dict[str, float]]) -> dict[str, float]:
    return {key: statistics.median(one[key] for one in found) for key in found[0]}


PARTS: dict[str, Callable[[argparse.Namespace], None]] = {
    "rows": rows_x10, "memory": memory, "length": length, "outputs": outputs, "workers": workers,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--metric", default="task:summarization")
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--memory-rows", type=int, default=1000)
    parser.add_argument("--workers-metric", action="append")
    parser.add_argument("--workers-rows", type=int, default=512)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--part", action="append", choices=list(PARTS))
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        child(json.loads(given.child))
        return
    print(f"{machine()}; metric {given.metric}")
    for name in given.part or PARTS:
        print(f"\n{name}")
        PARTS[name](given)


if __name__ == "__main__":
    main()
