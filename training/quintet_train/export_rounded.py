"""Products of whole numbers in a graph: inputs in 8 bit with one scale for each token, matrices as their grid has them.

Sums of whole numbers are exact and a token's scale is its own, so that no bit depends on what else is in the run. Codes
are 4 bit in a file beside the graph and become 7-bit numbers when it is opened (`models.packed_weights`): ONNX Runtime
could do that by itself, with folded nodes, but takes 2.7 GB for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quintet.errors import ModelError
from quintet_train.export_graph import MICROSOFT, Array, Graph
from quintet_train.torch_parts import need

BLOCK, STEPS, TOP, TABLE_TOP = 32, 15, 127, 63
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
    """A word table in 7 bit, one scale for each row."""

    codes: NDArray[np.int8]
    scales: NDArray[np.float32]

    def __post_init__(self) -> None:
        if len(self.codes) and np.abs(self.codes.astype(np.int16)).max() > TABLE_TOP:
            raise ModelError(f"the word table goes beyond {TABLE_TOP}: sums would overflow on processors without VNNI")

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


def product(graph: Graph, x: Input, name: str, matrix: Packed) -> str:
    """Without the tokens' scales."""
    return _product(graph, x, graph.left_out(name, (2 * matrix.codes.shape[1], len(matrix.codes))), matrix.scales)


def _product(graph: Graph, x: Input, matrix: str, scales: Array) -> str:
    given = (x.codes, matrix, graph.real(1), graph.real(scales), graph.constant(_ZERO, np.uint8))
    return graph.node("MatMulIntegerToFloat", *given, domain=MICROSOFT)


def save(matrices: Mapping[str, Packed | Rows], path: Path) -> None:
    """As `models.packed_weights` reads them."""
    found: dict[str, Array] = {}
    for name, matrix in matrices.items():
        if isinstance(matrix, Rows):
            found[f"{name}.rows"] = matrix.codes
            continue
        steps = matrix.steps().astype(np.uint8).transpose(1, 2, 0)
        found[f"{name}.codes"] = np.ascontiguousarray(steps[:, : BLOCK // 2] | (steps[:, BLOCK // 2 :] << 4))
        for end, numbers in (("low", matrix.low), ("high", matrix.high)):
            found[f"{name}.{end}"] = np.ascontiguousarray(numbers.T[:, None])
    # The library's own file could be read by its owner alone.
    path.write_bytes(need("safetensors.numpy").save(found))


@dataclass(frozen=True)
class WordTable:
    """Rows as they are looked up and multiplied with."""

    graph: Graph
    rows: Rows
    codes: str

    @staticmethod
    def put(graph: Graph, name: str, rows: Rows) -> WordTable:
        return WordTable(graph, rows, graph.left_out(name, rows.codes.shape))

    def looked_up(self, ids: str) -> str:
        graph = self.graph
        scales = graph.node("Gather", graph.real(self.rows.scales[:, None]), ids)
        return graph.node("Mul", graph.float32(graph.node("Gather", self.codes, ids)), scales)

    def against(self, x: Input) -> str:
        """With every row, without the tokens' scales."""
        columns = self.graph.node("Transpose", self.codes, perm=[1, 0])
        return _product(self.graph, x, columns, self.rows.scales)
