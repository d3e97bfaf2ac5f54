"""Products of whole numbers in a graph: inputs in 8 bit with one scale for each token, matrices as their grid has them.

Sums of whole numbers are exact and a token's scale is its own, so that no bit depends on what else is in the run. Codes
are 4 bit in the file and become 7-bit numbers when ONNX Runtime opens it (it folds constant nodes).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from quintet.train.export_graph import MICROSOFT, Array, Graph

BLOCK, STEPS, TOP = 32, 15, 127
_ZERO = 128
_LEAST = 1e-8


@dataclass(frozen=True, eq=False)
class Packed:
    """A matrix (out, in) on the grid of `train.evaluator.language_grid`."""

    codes: NDArray[np.uint8]
    """(out, in / 2): two in a byte, the even column in the lower half."""
    low: NDArray[np.int8]
    high: NDArray[np.int8]
    """(out, blocks): ends of each block of 32."""
    scales: NDArray[np.float32]
    """(out,)"""

    def steps(self) -> NDArray[np.int64]:
        """(out, blocks, 32)"""
        pairs = np.stack([self.codes & 15, self.codes >> 4], axis=-1).astype(np.int64)
        return pairs.reshape(len(self.codes), -1, BLOCK)

    def whole(self) -> NDArray[np.int64]:
        low, high = (end.astype(np.int64)[..., None] for end in (self.low, self.high))
        found = low + (2 * self.steps() * (high - low) + STEPS) // (2 * STEPS)
        return np.asarray(found.reshape(len(self.codes), -1), np.int64)

    def matrix(self) -> NDArray[np.float32]:
        """In float32: the slow, plain reading that graphs are compared with."""
        return self.whole().astype(np.float32) * self.scales[:, None]


@dataclass(frozen=True, eq=False)
class Rows:
    """A word table in 8 bit, one scale for each row."""

    codes: NDArray[np.int8]
    scales: NDArray[np.float32]

    def matrix(self) -> NDArray[np.float32]:
        return self.codes.astype(np.float32) * self.scales[:, None]


class Input(NamedTuple):
    """What goes into a product, and the scale of each token; no scale: plain float32."""

    codes: str
    scale: str


def rounded(graph: Graph, x: str) -> Input:
    largest = graph.node("ReduceMax", graph.node("Abs", x), graph.whole([-1]), keepdims=1)
    scale = graph.node("Div", graph.node("Max", largest, graph.real(_LEAST)), graph.real(TOP))
    codes = graph.node("QuantizeLinear", graph.node("Div", x, scale), graph.real(1), graph.constant(_ZERO, np.uint8))
    return Input(codes, scale)


def product(graph: Graph, x: Input, matrix: Packed, factor: float = 1.0) -> str:
    """Without the tokens' scales. A factor that is a power of two costs no bit."""
    return _whole_product(graph, x, _opened(graph, matrix), matrix.scales * np.float32(factor))


def _whole_product(graph: Graph, x: Input, matrix: str, scales: Array, zero: str = "") -> str:
    given = [x.codes, matrix, graph.real(1), graph.real(scales), graph.constant(_ZERO, np.uint8)]
    return graph.node("MatMulIntegerToFloat", *given, *([zero] if zero else []), domain=MICROSOFT)


def _opened(graph: Graph, matrix: Packed) -> str:
    """(in, out), int8. A byte holds a number of the first half of a block and one of the second."""
    steps = matrix.steps().astype(np.uint8)
    out, blocks, _ = steps.shape
    packed = graph.constant((steps[..., : BLOCK // 2] | (steps[..., BLOCK // 2 :] << 4)).transpose(1, 2, 0))
    four = graph.constant(4, np.uint8)
    first = graph.node("BitShift", graph.node("BitShift", packed, four, direction="LEFT"), four, direction="RIGHT")
    second = graph.node("BitShift", packed, four, direction="RIGHT")

    def numbers(name: str) -> str:
        return graph.node("Cast", name, to=TensorProto.INT32)

    def small(value: int) -> str:
        return graph.constant(value, np.int32)

    low, high = (numbers(graph.constant(end.T[:, None, :], np.int8)) for end in (matrix.low, matrix.high))
    wide = graph.node("Mul", graph.node("Sub", high, low), small(2))
    steps_of = numbers(graph.node("Concat", first, second, axis=1))
    risen = graph.node("Div", graph.node("Add", graph.node("Mul", steps_of, wide), small(STEPS)), small(2 * STEPS))
    whole = graph.node("Cast", graph.node("Add", risen, low), to=TensorProto.INT8)
    return graph.node("Reshape", whole, graph.whole([blocks * BLOCK, out]))


@dataclass(frozen=True)
class WordTable:
    """Names of the constants: rows as they are looked up and multiplied with, and their scales."""

    graph: Graph
    table: Rows
    codes: str

    @staticmethod
    def put(graph: Graph, table: Rows) -> WordTable:
        # Unsigned, since 8-bit numbers with a sign would overflow on processors without VNNI.
        return WordTable(graph, table, graph.constant((table.codes.astype(np.int16) + _ZERO).astype(np.uint8)))

    def looked_up(self, ids: str) -> str:
        graph = self.graph
        scales = graph.node("Gather", graph.real(self.table.scales[:, None]), ids)
        codes = graph.node("Sub", graph.float32(graph.node("Gather", self.codes, ids)), graph.real(_ZERO))
        return graph.node("Mul", codes, scales)

    def against(self, x: Input) -> str:
        """With every row, without the tokens' scales."""
        columns = self.graph.node("Transpose", self.codes, perm=[1, 0])
        zero = self.graph.constant(_ZERO, np.uint8)
        return _whole_product(self.graph, x, columns, self.table.scales, zero)
