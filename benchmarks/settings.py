"""Which settings of ONNX Runtime? Threads, graph optimisation, arena, spinning, each against the one that is used.

    python benchmarks/settings.py [--rounds 7]

Sessions of the bundled evaluator run the same inputs (sentences and summaries beside a window that was read before, a
window, summaries by themselves) in turns, so that other work on the machine hits all alike; medians. Wall clock and
processor time per 1,000 sub-words, and what a session adds to the memory of a process of its own.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import onnxruntime
from made_up import machine

from quintet.models.catalog import entry, verify
from quintet.models.onnx_judge import as_inputs

SHAPES = ((1, 28, 312), (8, 28, 312), (3, 80, 312), (1, 312, 0), (3, 80, 0))
"""Texts of a run, sub-words of each, sub-words of the grounds beside them."""
STATES = (12, 2, 12, 32)
Change = Callable[[onnxruntime.SessionOptions], None]
LEVELS = onnxruntime.GraphOptimizationLevel


def _level(name: str) -> Change:
    return lambda options: setattr(options, "graph_optimization_level", getattr(LEVELS, name))


def _threads(count: int) -> Change:
    return lambda options: setattr(options, "intra_op_num_threads", count)


VARIANTS: dict[str, Change] = {
    "as used (2 threads)": lambda options: None,
    "1 thread": _threads(1),
    "spinning on": lambda o: o.add_session_config_entry("session.intra_op.allow_spinning", "1"),
    "arena on": lambda options: setattr(options, "enable_cpu_mem_arena", True),
    "graph optimisation off": _level("ORT_DISABLE_ALL"),
    "graph optimisation basic": _level("ORT_ENABLE_BASIC"),
    "graph optimisation extended": _level("ORT_ENABLE_EXTENDED"),
    "parallel execution of nodes": lambda o: setattr(o, "execution_mode", onnxruntime.ExecutionMode.ORT_PARALLEL),
}


def session(change: Change) -> Any:
    """The settings of `models.onnx_backend.open_session` on two threads, but for one."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = 2, 1, 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.enable_cpu_mem_arena = False
    change(options)
    path = verify(entry("evaluator")) / "model.onnx"
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def inputs(texts: int, length: int, beside: int) -> dict[str, Any]:
    chance = np.random.default_rng(length)
    ids = chance.integers(1000, 20000, (texts, length))
    past = as_inputs(chance.standard_normal((*STATES[:3], beside, STATES[3]), np.float32))
    ones, zeros = np.ones_like(ids), np.zeros_like(ids)
    nothing = {"rows": np.zeros((0, 2), np.int64), "targets": np.zeros(0, np.int64)}
    return {"ids": ids, "types": zeros, "mask": ones, "output_mask": ones, **past, **nothing}


def run(opened: Any) -> None:
    for shape in SHAPES:
        opened.run(["heads", "nli", "words", "pooled"], inputs(*shape))


def memory(name: str) -> None:
    """In a process of its own: peak in MB after ten rounds, and seconds to open."""
    start = time.perf_counter()
    opened = session(VARIANTS[name])
    seconds = time.perf_counter() - start
    for _ in range(10):
        run(opened)
    # Not getrusage: there a new process begins with the peak of the one that started it.
    with open("/proc/self/status") as status:
        peak = next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))
    print(json.dumps([peak, seconds]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--memory", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.memory:
        return memory(given.memory)
    print(f"{machine()}; onnxruntime {onnxruntime.__version__}")
    sessions = {name: session(change) for name, change in VARIANTS.items()}
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in sessions}
    for turn in range(given.rounds + 1):
        for name, opened in sessions.items():
            wall, processor = time.perf_counter(), time.process_time()
            run(opened)
            if turn:  # the first one warms
                taken[name].append((time.perf_counter() - wall, time.process_time() - processor))
    thousands = sum(texts * length for texts, length, _ in SHAPES) / 1000
    base: tuple[float, ...] = ()
    for name, times in taken.items():
        found = tuple(statistics.median(column) / thousands for column in zip(*times, strict=True))
        base = base or found
        command = [sys.executable, __file__, "--memory", name]
        peak, seconds = json.loads(subprocess.check_output(command, text=True))
        print(
            f"{name:30s} {found[0]:.3f} s wall ({found[0] / base[0]:.2f}), {found[1]:.3f} s cpu "
            f"({found[1] / base[1]:.2f}) for 1,000 sub-words; peak {peak:.0f} MB; opens in {seconds:.1f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
