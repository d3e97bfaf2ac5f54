"""ONNX graphs written node by node: what the bundled models are made of, without a tracer between code and file.

Weights are float32, or codes with scales. `int8` codes are turned back into float32 when ONNX Runtime opens the file
(it folds constant nodes), so that arithmetic is float32 and a row's numbers do not depend on the rows beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

BLOCK = 32
"""Weights that share a scale (docs/models.md has the study)."""
OPSET = 18
MICROSOFT = "com.microsoft"

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Codes:
    """A matrix (out, in) as whole numbers with scales."""

    codes: Array
    """int8 (out, in)."""
    scales: Array
    """(out, 1) or (out, blocks)."""

    def matrix(self) -> NDArray[np.float32]:
        """In float32: the slow, plain reading that graphs are compared with."""
        rows = self.codes.astype(np.float32).reshape(len(self.codes), self.scales.shape[1], -1)
        return (rows * self.scales.astype(np.float32)[..., None]).reshape(self.codes.shape)


Weight = Array | Codes


@dataclass(frozen=True)
class Table:
    """Names of a word table's constants in a graph; no scales: plain float32."""

    codes: str
    scales: str
    shape: tuple[int, ...]


def quantised(matrix: Array) -> Codes:
    """int8 in blocks along the input; the codes fit the half-precision scale as it is stored."""
    out, width = matrix.shape
    blocks = matrix.astype(np.float32).reshape(out, width // BLOCK, BLOCK)
    scales = (np.abs(blocks).max(axis=2) / 127).astype(np.float16)
    codes = np.rint(blocks / np.maximum(scales.astype(np.float32), 1e-8)[..., None]).clip(-127, 127)
    return Codes(codes.astype(np.int8).reshape(out, width), scales)


class Graph:
    """Collects nodes and constants; every method returns the name of its result."""

    def __init__(self) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []

    def constant(self, value: Any, kind: Any = None) -> str:
        name = f"c{len(self._constants)}"
        array = np.array(value, kind, order="C")
        self._constants.append(numpy_helper.from_array(array, name))
        return name

    def left_out(self, name: str, shape: Sequence[int]) -> str:
        """A matrix of int8 that stands in another file and is put in when the graph is opened."""
        tensor = onnx.TensorProto(name=name, data_type=TensorProto.INT8, dims=list(shape))
        tensor.data_location = onnx.TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value=name)
        self._constants.append(tensor)
        return name

    def whole(self, value: int | Sequence[int]) -> str:
        return self.constant(value, np.int64)

    def real(self, value: Any) -> str:
        return self.constant(value, np.float32)

    def node(self, kind: str, *inputs: str, domain: str = "", name: str = "", **attributes: Any) -> str:
        return self.nodes(kind, 1, *inputs, domain=domain, name=name, **attributes)[0]

    def nodes(
        self, kind: str, outputs: int | Sequence[str], *inputs: str, domain: str = "", name: str = "", **attributes: Any
    ) -> list[str]:
        """`outputs`: how many, or their names, of which some may be empty."""
        wanted = [name] if name else [""] * outputs if isinstance(outputs, int) else outputs
        made = [one or f"n{len(self._nodes)}_{i}" for i, one in enumerate(wanted)]
        self._nodes.append(helper.make_node(kind, list(inputs), made, domain=domain, **attributes))
        return made

    def float32(self, name: str) -> str:
        return self.node("Cast", name, to=TensorProto.FLOAT)

    def half(self, value: Array) -> str:
        """A constant kept in half precision and used in float32."""
        return self.float32(self.constant(value, np.float16))

    def transposed(self, weight: Weight) -> str:
        """The matrix (in, out) as MatMul reads it."""
        if not isinstance(weight, Codes):
            return self.real(weight.T)
        out, width = weight.codes.shape
        blocks = weight.scales.shape[1]
        codes = self.float32(self.constant(weight.codes.T.reshape(blocks, width // blocks, out)))
        scales = self.float32(self.constant(weight.scales.T.reshape(blocks, 1, out)))
        return self.node("Reshape", self.node("Mul", codes, scales), self.whole([width, out]))

    def linear(self, x: str, weight: Weight, bias: Array | None = None, name: str = "") -> str:
        """x times the transposed weight, plus bias."""
        product = self.node("MatMul", x, self.transposed(weight), name="" if bias is not None else name)
        return product if bias is None else self.node("Add", product, self.real(bias), name=name)

    def table(self, weight: Weight) -> Table:
        """Rows to be looked up, and to be multiplied with: stored once."""
        if not isinstance(weight, Codes):
            return Table(self.real(weight), "", weight.shape)
        out, width = weight.codes.shape
        blocks = weight.scales.shape[1]
        codes = self.constant(weight.codes.reshape(out, blocks, width // blocks))
        return Table(codes, self.constant(weight.scales.reshape(out, blocks, 1)), (out, width))

    def looked_up(self, table: Table, ids: str, shape: Sequence[int]) -> str:
        """The rows at `ids`, in float32, as `shape`."""
        picked = self.node("Gather", table.codes, ids)
        if not table.scales:
            return picked
        scales = self.float32(self.node("Gather", table.scales, ids))
        return self.node("Reshape", self.node("Mul", self.float32(picked), scales), self.whole(shape))

    def against(self, x: str, table: Table) -> str:
        """x (n, in) with every row of the table: (n, out). The table is turned into float32 when the file is opened."""
        rows = table.codes
        if table.scales:
            numbers = self.node("Mul", self.float32(table.codes), self.float32(table.scales))
            rows = self.node("Reshape", numbers, self.whole(list(table.shape)))
        return self.node("Gemm", x, rows, transB=1)

    def dots(self, x: str, weight: Array, bias: Array, name: str) -> str:
        """A few outputs per row as plain sums of products, so that a row is the same however many rows there are."""
        products = self.node("Mul", self.node("Unsqueeze", x, self.whole([-2])), self.real(weight))
        sums = self.node("ReduceSum", products, self.whole([-1]), keepdims=0)
        return self.node("Add", sums, self.real(bias), name=name)

    def norm(self, x: str, gain: Array, shift: Array, epsilon: float, name: str = "") -> str:
        return self.node(
            "LayerNormalization", x, self.real(gain), self.real(shift), axis=-1, epsilon=epsilon, name=name
        )

    def save(self, path: Path, inputs: dict[str, Sequence[str | int]], outputs: dict[str, Sequence[str | int]]) -> None:
        """Inputs are whole numbers unless their name begins with `past`; outputs are float32."""
        graph = helper.make_graph(
            self._nodes, "quintet",
            [
                helper.make_tensor_value_info(
                    name, TensorProto.FLOAT if name.startswith("past") else TensorProto.INT64, list(shape)
                )
                for name, shape in inputs.items()
            ],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape)) for name, shape in outputs.items()],
            self._constants,
        )  # fmt: skip
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(MICROSOFT, 1)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9, producer_name="quintet"), str(path))


def log_probability(graph: Graph, logits: str, targets: str, name: str) -> str:
    """log softmax(logits)[target] for each row."""
    picked = graph.node(
        "GatherElements", graph.node("LogSoftmax", logits, axis=-1), graph.node("Unsqueeze", targets, graph.whole([1])),
        axis=1,
    )  # fmt: skip
    return graph.node("Squeeze", picked, graph.whole([1]), name=name)
