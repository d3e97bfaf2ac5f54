"""Small heads that stand on a judge: linear layers over what its own heads read (IM2's five-point scales).

A folder with model.toml and head.safetensors. model.toml: name, role = "pair-classifier", `on` (the judge's spec),
`on_identity` (the judge it was trained on), `activation` between layers. Tensors: weight_0 (out, in), bias_0, …
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from quintet.errors import ModelError
from quintet.models.folder import HEAD, Description
from quintet.models.judge_roles import PairsThroughJudge
from quintet.models.onnx_judge import OnnxJudge
from quintet.models.roles import WHOLE, Limits, Logits, Pair
from quintet.models.tensor_file import read_all

ACTIVATIONS: Mapping[str, Callable[[NDArray[np.float32]], NDArray[np.float32]]] = {
    "none": lambda x: x,
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, np.float32(0)),
}

Matrix = NDArray[np.float32]
Layers = Sequence[tuple[Matrix, Matrix]]


class PooledHead(PairsThroughJudge):
    """The second text is judged beside the first, whose lines are turns, or one alone; read as replies are."""

    by_line = True

    def __init__(self, judge: OnnxJudge, folder: Path, description: Description, identity: str) -> None:
        super().__init__(judge, identity)
        self.together = bool(judge.together)
        if description.on_identity and description.on_identity != judge.identity:
            raise ModelError(f"{folder} was trained on {description.on_identity}, and {judge.identity} is here")
        if description.activation not in ACTIVATIONS:
            raise ModelError(f"{folder}: activation must be one of {', '.join(ACTIVATIONS)}")
        self._activation = ACTIVATIONS[description.activation]
        self._layers = read(folder / description.file, judge.width)
        self.labels = len(self._layers[-1][1])

    def logits(self, pairs: Sequence[Pair], limits: Limits = WHOLE, order: Literal["ab", "ba"] = "ab") -> list[Logits]:
        return self._logits(pairs, limits, order, lambda one: self._values(one.pooled))

    def _values(self, pooled: Matrix) -> Matrix:
        x = pooled
        for index, (weight, bias) in enumerate(self._layers):
            x = weight @ (self._activation(x) if index else x) + bias
        return x


def read(path: Path, width: int) -> Layers:
    plain = read_all(path)
    layers: list[tuple[Matrix, Matrix]] = []
    while f"weight_{len(layers)}" in plain:
        weight, bias = plain[f"weight_{len(layers)}"], plain.get(f"bias_{len(layers)}")
        if bias is None or bias.ndim != 1 or weight.shape != (len(bias), width):
            raise ModelError(f"{path}: weight_{len(layers)} and its bias do not fit an input of {width} numbers")
        layers.append((weight, bias))
        width = len(bias)
    if not layers:
        raise ModelError(f"{path} has no weight_0; it is not a head")
    return layers


def write(
    folder: Path, name: str, layers: Layers, judge: OnnxJudge, activation: str = "relu", on: str = "bundled:evaluator"
) -> Path:
    """A head as a folder that `dir:` opens; `layers` are (weight (out, in), bias) from the pooled vector up."""
    from safetensors.numpy import save

    folder.mkdir(parents=True, exist_ok=True)
    arrays: dict[str, Matrix] = {}
    for index, pair in enumerate(layers):
        for part, numbers in zip(("weight", "bias"), pair, strict=True):
            arrays[f"{part}_{index}"] = np.ascontiguousarray(numbers, np.float32)
    # The library's own file could be read by its owner alone.
    (folder / HEAD).write_bytes(save(arrays))
    lines = {
        "name": name, "role": "pair-classifier", "layers": len(layers), "width": judge.width,
        "max_tokens": judge.max_tokens, "file": HEAD, "on": on, "on_identity": judge.identity, "activation": activation,
    }  # fmt: skip
    text = "".join(f"{key} = {json.dumps(value)}\n" for key, value in lines.items())
    (folder / "model.toml").write_text(text, encoding="utf-8")
    return folder
