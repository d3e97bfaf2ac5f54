"""How far from the machine's limit? The measured peak of matrix products, the operations that the four dimensions of a
summary need, the least time these take, and the time that is taken.

    python benchmarks/limits.py [--documents 1] [--rounds 3] [--threads 1] [--model dir:FOLDER]

Peaks are measured on products of the evaluator's shape, in float32 and in 8 bit, right before and after each round, in
processor time: other work on the machine then hits peak and run alike. Needs `onnx` to write the products.
"""

from __future__ import annotations

import argparse
import statistics
import time
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from made_up import machine, summeval_like, with_threads
from onnx import TensorProto, helper, numpy_helper

from quintet import _api as api
from quintet.core.item import Item
from quintet.core.options import Options
from quintet.models import onnx_backend, onnx_judge, onnx_lm
from quintet.models.catalog import entry, verify

WIDTH, WIDE, LAYERS = 384, 1536, 12
"""Evaluator and gte-small."""
LM_WIDTH, LM_LAYERS, LM_WEIGHTS, LM_VOCABULARY = 576, 30, 106_168_320, 49_152 * 576
ROWS = 512


def product(bits: int) -> Any:
    """A session of one matrix product, (rows, 384) by (384, 1536)."""
    chance = np.random.default_rng(0)
    kind = TensorProto.UINT8 if bits == 8 else TensorProto.FLOAT
    matrix = chance.integers(-60, 60, (WIDTH, WIDE)).astype(np.int8 if bits == 8 else np.float32)
    node = helper.make_node("MatMulInteger" if bits == 8 else "MatMul", ["x", "w"], ["y"])
    out = TensorProto.INT32 if bits == 8 else TensorProto.FLOAT
    graph = helper.make_graph(
        [node], "product", [helper.make_tensor_value_info("x", kind, [ROWS, WIDTH])],
        [helper.make_tensor_value_info("y", out, [ROWS, WIDE])], [numpy_helper.from_array(matrix, "w")],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(model)
    return onnx_backend.open_session(model.SerializeToString())


def peak(session: Any, bits: int, seconds: float = 0.3) -> float:
    """Operations a second of processor time: the best of many products."""
    x = np.ones((ROWS, WIDTH), np.uint8 if bits == 8 else np.float32)
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.process_time()
        for _ in range(4):
            session.run(None, {"x": x})
        best = min(best, (time.process_time() - start) / 4)
    return 2.0 * ROWS * WIDTH * WIDE / best


def encoder(texts: int, length: int, beside: int = 0) -> float:
    """`beside`: sub-words of the grounds, which texts look at and which went through the model before."""
    linear = 2.0 * LAYERS * (4 * WIDTH**2 + 2 * WIDTH * WIDE) * texts * length
    return linear + 4.0 * LAYERS * WIDTH * texts * length * (length + beside)


class Counted:
    """Operations by model, counted where inputs go into the sessions."""

    def __init__(self) -> None:
        self.work: Counter[str] = Counter()
        self.subwords: Counter[str] = Counter()
        judge, grounds = onnx_judge.OnnxJudge._run, onnx_judge.OnnxJudge._run_contexts
        embedder, language = onnx_backend.OnnxEmbedder._run, onnx_lm.OnnxCausalLM._run

        def judged(model: Any, rows: Any, past: Any) -> Any:
            length = model.filled(len(rows[0].output))
            self.add("evaluator", encoder(len(rows), length, past.shape[3]), len(rows) * length)
            return judge(model, rows, past)

        def grounded(model: Any, texts: Any) -> Any:
            length = model.filled(len(texts[0]))
            self.add("evaluator", encoder(len(texts), length), len(texts) * length)
            return grounds(model, texts)

        def embedded(model: Any, ids: Any, mask: Any, layers: Any) -> Any:
            self.add("gte-small", encoder(*ids.shape) * max(layers) / LAYERS, ids.size)
            return embedder(model, ids, mask, layers)

        def read(model: Any, wanted: Any, ids: Any, past: Any, rows: Any, targets: Any) -> Any:
            around = 4.0 * LM_LAYERS * LM_WIDTH * len(ids) * (past[0].shape[2] + len(ids))
            self.add("judge-lm", 2.0 * LM_WEIGHTS * len(ids) + 2.0 * LM_VOCABULARY * len(rows) + around, len(ids))
            return language(model, wanted, ids, past, rows, targets)

        onnx_judge.OnnxJudge._run = judged  # type: ignore[method-assign]
        onnx_judge.OnnxJudge._run_contexts = grounded  # type: ignore[method-assign]
        onnx_backend.OnnxEmbedder._run = embedded  # type: ignore[method-assign]
        onnx_lm.OnnxCausalLM._run = read  # type: ignore[method-assign]

    def add(self, model: str, operations: float, subwords: int) -> None:
        self.work[model] += operations
        self.subwords[model] += subwords

    def clear(self) -> None:
        self.work.clear()
        self.subwords.clear()


def bits_of(folder: Path) -> int:
    """Of the products; attention, which is counted with them, is float32 in every model."""
    described = tomllib.loads((folder / "model.toml").read_text(encoding="utf-8"))
    return 8 if "arithmetic" in described["precision"] else 32


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--model", help="another evaluator than the bundled one")
    given = parser.parse_args()
    with_threads(given.threads)
    print(machine())
    folder = Path(given.model.removeprefix("dir:")) if given.model else verify(entry("evaluator"))
    bits = {"evaluator": bits_of(folder), "gte-small": 32, "judge-lm": bits_of(verify(entry("judge-lm")))}
    sessions, counted = {32: product(32), 8: product(8)}, Counted()
    items = [Item(example) for example in summeval_like(given.documents)]
    for name, fast in (("all signals", False), ("--fast", True)):
        plan = api.make_plan(Options(task="summarization", model=given.model, fast=fast))
        list(api.stream(plan, items[:1], api.open_store(False)))
        floors, taken = [], []
        for _ in range(given.rounds):
            before = {b: peak(session, b) for b, session in sessions.items()}
            counted.clear()
            start = time.process_time()
            list(api.stream(plan, items, api.open_store(False)))
            taken.append((time.process_time() - start) / len(items))
            after = {b: peak(session, b) for b, session in sessions.items()}
            best = {b: max(before[b], after[b]) for b in sessions}
            floors.append(sum(work / best[bits[m]] for m, work in counted.work.items()) / len(items))
        print(f"\n{name}: peak {best[32] / 1e9:.0f} GFLOP/s in float32, {best[8] / 1e9:.0f} Gop/s in 8 bit")
        for model, work in counted.work.items():
            print(
                f"  {model:10s} {counted.subwords[model] / len(items):7.0f} sub-words an output, "
                f"{work / len(items) / 1e9:6.1f} G operations in {bits[model]} bit: "
                f"{work / best[bits[model]] / len(items):.3f} s at the peak"
            )
        floor, ours = statistics.median(floors), statistics.median(taken)
        print(f"  floor {floor:.3f} s, taken {ours:.3f} s of processor time an output: {100 * floor / ours:.0f} %")


if __name__ == "__main__":
    main()
