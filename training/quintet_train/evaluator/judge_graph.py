"""The bundled evaluator's graph back to weights: the way back of `train.export_integer`.

What is read is what the product multiplies with: 7-bit numbers times their scales, the factor of each channel taken
out again, large channels put back. Values and what follows attention keep the factor that one has and the other lacks:
their product is the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from quintet.errors import ModelError
from quintet_train.torch_parts import need

Numbers = NDArray[np.float32]
_PRODUCT = "MatMulIntegerToFloat"
_OF_LAYER = ("query", "key", "value", "o", "up", "down")
"""Products of a layer, in the order of the graph."""


def weights_of(path: Path) -> dict[str, Tensor]:
    """Tensors under the evaluator's names."""
    graph = _Graph(path)
    products = graph.of_kind(_PRODUCT)
    if not products or len(products) % len(_OF_LAYER):
        raise ModelError(f"{path} is no evaluator with 8-bit arithmetic that quintet exported")
    found = dict(_layers([graph.matrix(node) for node in products]))
    norms = [(graph[node.input[1]], graph[node.input[2]]) for node in graph.of_kind("LayerNormalization")]
    for name, (weight, bias) in zip(_norm_names(len(products) // len(_OF_LAYER)), norms, strict=True):
        found[f"{name}.weight"], found[f"{name}.bias"] = weight, bias
    found |= graph.tables()
    found |= graph.heads()
    return {name: torch.from_numpy(np.array(value, np.float32)) for name, value in found.items()}


def _layers(found: Sequence[tuple[Numbers, Numbers]]) -> Iterator[tuple[str, Numbers]]:
    size = len(_OF_LAYER)
    for layer in range(len(found) // size):
        own = dict(zip(_OF_LAYER, found[layer * size : (layer + 1) * size], strict=True))
        three = [own[name] for name in _OF_LAYER[:3]]
        every = {"qkv": tuple(np.concatenate([one[part] for one in three]) for part in range(2))}
        every |= {name: own[name] for name in _OF_LAYER[3:]}
        for name, (matrix, bias) in every.items():
            yield f"enc.layers.{layer}.{name}.weight", matrix
            yield f"enc.layers.{layer}.{name}.bias", bias


def _norm_names(layers: int) -> list[str]:
    return ["enc.ln", *(f"enc.layers.{layer}.{name}" for layer in range(layers) for name in ("ln1", "ln2")), "mlm.norm"]


class _Graph:
    def __init__(self, path: Path) -> None:
        self.path = path
        graph = need("onnx").load(path).graph
        self.nodes = list(graph.node)
        self._constants = {one.name: one for one in graph.initializer}
        self._maker = {name: node for node in self.nodes for name in node.output}
        self._users: dict[str, list[Any]] = {}
        for node in self.nodes:
            for name in node.input:
                self._users.setdefault(name, []).append(node)

    def __getitem__(self, name: str) -> Any:
        """A constant, also one that is made wider before it is used."""
        if name not in self._constants:
            maker = self._maker.get(name)
            if maker is None or maker.op_type != "Cast":
                raise ModelError(f"{self.path}: {name} is no constant of the graph")
            name = maker.input[0]
        return need("onnx").numpy_helper.to_array(self._constants[name]).astype(np.float32)

    def of_kind(self, kind: str) -> list[Any]:
        return [node for node in self.nodes if node.op_type == kind]

    def matrix(self, node: Any) -> tuple[Numbers, Numbers]:
        """(out, in) and bias of a product of whole numbers: with its channels' factors, and those multiplied apart."""
        codes, scales, bias = self[node.input[1]], self[node.input[3]], self[node.input[6]]
        out = codes.T * scales.reshape(-1, 1)
        divided = self._maker[self._maker[node.input[0]].input[0]]
        if divided.op_type == "Mul" and divided.input[1] in self._constants:
            out = out * self[divided.input[1]].reshape(1, -1)
        for user in self._users[node.output[0]]:
            if user.op_type == "Add":
                self._put_apart(user, out)
        return out, bias

    def _put_apart(self, added: Any, matrix: Numbers) -> None:
        """Columns that were multiplied in float32 beside the product."""
        for name in added.input:
            maker = self._maker.get(name)
            if maker is not None and maker.op_type == "MatMul" and maker.input[1] in self._constants:
                gathered = self._maker[maker.input[0]]
                if gathered.op_type == "Gather":
                    columns = self[gathered.input[1]].astype(np.int64)
                    matrix[:, columns] += self[maker.input[1]].T

    def tables(self) -> dict[str, Numbers]:
        """Words, positions and sides, by how the graph looks them up."""
        looked_up: dict[str, list[str]] = {}
        for node in self.of_kind("Gather"):
            looked_up.setdefault(node.input[1], []).append(node.input[0])
        codes, scales = (self[name].reshape(self[name].shape[0], -1) for name in looked_up["ids"])
        return {
            "enc.word.weight": codes * scales,
            "enc.pos.weight": self[self.of_kind("Slice")[0].input[0]],
            "enc.typ.weight": self[looked_up["types"][0]],
        }

    def heads(self) -> dict[str, Numbers]:
        """What stands behind the last state: pooling, answers, words, masked words."""
        pooled = self._before("pooled", "Add")
        out = {
            "pool.bias": self[pooled.input[1]],
            "pool.weight": self[self._before(pooled.input[0], "MatMul").input[0]],
        }
        for name, own in (("heads", "heads"), ("nli", "nli"), ("words", "tok")):
            added = self._maker[name]
            out[f"{own}.bias"] = self[added.input[1]]
            weight = self[self._before(added.input[0], "Mul").input[1]]
            out[f"{own}.weight"] = weight.reshape(-1, weight.shape[-1])
        logits = self._before("word_logp", "Add")
        out["mlm.bias"] = self[logits.input[1]]
        dense = self._before(self._before(logits.input[0], "LayerNormalization").input[0], "Add")
        out["mlm.dense.bias"] = self[dense.input[1]]
        blocks = self._before(self._maker[dense.input[0]].input[1], "Mul")
        matrix = self[blocks.input[0]] * self[blocks.input[1]]
        out["mlm.dense.weight"] = matrix.reshape(-1, matrix.shape[-1]).T
        return out

    def _before(self, name: str, kind: str) -> Any:
        """The nearest node of this kind that `name` is made from, going back by first inputs."""
        node = self._maker[name]
        while node.op_type != kind:
            node = self._maker[node.input[0]]
        return node
