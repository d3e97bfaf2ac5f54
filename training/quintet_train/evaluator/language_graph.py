"""The language model's folder back to weights: whole numbers from the packed file, scales and norms from the graph.

The way back of `train.export_judge_lm`. What is read is what the product multiplies with, to the last bit; a network
that starts from it rounds to the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from quintet.errors import ModelError
from quintet.models import packed_weights
from quintet.models.folder import HEADS
from quintet.models.packed_weights import read_all
from quintet_train.evaluator.language_grid import TABLE
from quintet_train.torch_parts import need

Numbers = NDArray[np.float32]
_QKV = "qkv.weight"
_NORMS = ("n1", "n2")


def weights_of(folder: Path) -> tuple[dict[str, Tensor], Mapping[str, Any]]:
    """Tensors under our names, heads among them where there are any; and what the weights do not say themselves."""
    graph = need("onnx").load(folder / "model.onnx", load_external_data=False).graph
    nodes, constants = list(graph.node), _Constants(graph)
    attention = _of_kind(nodes, "GroupQueryAttention", folder)
    norms = _of_kind(nodes, "SimplifiedLayerNormalization", folder)
    found = dict(_norms([constants[node.input[1]] for node in norms]))
    scales = dict(_scales(nodes, constants))
    heads, small = (int(_number(attention[0], name)) for name in ("num_heads", "kv_num_heads"))
    for name, whole in packed_weights.opened(folder / packed_weights.FILE):
        rows, own = whole if name == TABLE else whole.T, scales.get(name)
        if own is None or len(own) != len(rows):
            raise ModelError(f"{folder}: {packed_weights.FILE} and the graph do not fit one another ({name})")
        found |= dict(_apart(name, rows.astype(np.float32) * own[:, None], heads, small))
    if (folder / HEADS).is_file():
        found |= read_all(folder / HEADS)
    told = {
        "num_attention_heads": heads,
        "rms_norm_eps": _number(norms[0], "epsilon"),
        "rope_theta": _theta(constants[attention[0].input[-1]]),
    }
    return {name: torch.from_numpy(np.array(value, np.float32)) for name, value in found.items()}, told


class _Constants:
    def __init__(self, graph: Any) -> None:
        self._found = {one.name: one for one in graph.initializer}

    def __getitem__(self, name: str) -> Numbers:
        return np.array(need("onnx").numpy_helper.to_array(self._found[name]), np.float32)


def _of_kind(nodes: Sequence[Any], kind: str, folder: Path) -> list[Any]:
    found = [node for node in nodes if node.op_type == kind]
    if not found:
        raise ModelError(f"{folder} holds no language model that quintet exported: its graph has no {kind}")
    return found


def _number(node: Any, name: str) -> float:
    for attribute in node.attribute:
        if attribute.name == name:
            return float(need("onnx").helper.get_attribute_value(attribute))
    raise ModelError(f"{node.op_type} has no {name}")


def _norms(found: Sequence[Numbers]) -> Iterator[tuple[str, Numbers]]:
    """Two a layer, and the last."""
    for place, weight in enumerate(found[:-1]):
        layer, which = divmod(place, len(_NORMS))
        yield f"blocks.{layer}.{_NORMS[which]}.weight", weight
    yield "norm.weight", found[-1]


def _scales(nodes: Sequence[Any], constants: _Constants) -> Iterator[tuple[str, Numbers]]:
    """Of the rows of each packed matrix; the word table is turned before it is multiplied with."""
    turned = {node.output[0]: node.input[0] for node in nodes if node.op_type == "Transpose"}
    for node in nodes:
        if node.op_type == "MatMulIntegerToFloat":
            yield turned.get(node.input[1], node.input[1]), constants[node.input[3]]


def _apart(name: str, rows: Numbers, heads: int, small: int) -> Iterator[tuple[str, Numbers]]:
    """Queries, keys and values as matrices of their own."""
    if not name.endswith(_QKV):
        yield name, rows
        return
    each = len(rows) // (heads + 2 * small)
    cuts = np.cumsum([heads * each, small * each])
    for part, own in zip("qkv", np.split(rows, cuts), strict=True):
        yield f"{name.removesuffix(_QKV)}{part}.weight", own


def _theta(sines: Numbers) -> float:
    """Base of the rotary positions, from the slowest turn of the second place."""
    turns = sines.shape[1]
    return float(round(float(np.arcsin(np.float64(sines[1, -1]))) ** (-turns / (turns - 1))))
