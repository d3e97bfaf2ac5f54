"""Writes a trained reader as the product opens it: a graph, packed matrices, tokenizer and model.toml.

`python -m quintet_train.reader.export READER.pt --start FOLDER --out FOLDER`
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from quintet.models import packed_weights
from quintet.models.reader import HIDDEN
from quintet_train.evaluator.language_grid import four_bit
from quintet_train.export_evaluator import tidy_tokenizer
from quintet_train.export_graph import MICROSOFT, Graph
from quintet_train.export_rounded import BLOCK, Input, Packed, product, rounded, save
from quintet_train.reader.network import OUTPUTS, Shape

DESCRIPTION = """name = "reader"
role = "reader"
layers = {layers}
width = {width}
max_tokens = {tokens}
precision = "int8-arithmetic"
"""


def packed(weight: Tensor) -> Packed:
    grid = four_bit(weight)
    flat = grid.codes.to(torch.uint8).flatten(1)
    low, high = (end[..., 0].to(torch.int8).numpy() for end in (grid.low, grid.high))
    return Packed((flat[:, 0::2] | (flat[:, 1::2] << 4)).numpy(), low, high, grid.scale[:, 0, 0].numpy())


class _Writer:
    def __init__(self, weights: Mapping[str, Tensor], shape: Shape):
        self.weights, self.shape, self.graph = weights, shape, Graph()
        self.packed: dict[str, Packed] = {}

    def plain(self, name: str) -> np.ndarray:
        return self.weights[name].float().numpy()

    def linear(self, x: Input, name: str) -> str:
        graph = self.graph
        matrix = self.packed[f"{name}.weight"] = packed(self.weights[f"{name}.weight"])
        made = graph.node("Mul", product(graph, x, f"{name}.weight", matrix), x.scale)
        return graph.node("Add", made, graph.real(self.plain(f"{name}.bias")))

    def looked_up(self, ids: str) -> str:
        """Rows of the word table: 4 bits, blocks of 32 words with a scale for each column, so half of a table in 7."""
        table = self.weights["words.weight"].float()
        lacking = -len(table) % BLOCK
        matrix = self.packed["words"] = packed(torch.cat([table, table.new_zeros(lacking, self.shape.width)]).T)
        codes = self.graph.left_out("words", (len(table) + lacking, self.shape.width))
        found = self.graph.float32(self.graph.node("Gather", codes, ids))
        return self.graph.node("Mul", found, self.graph.real(matrix.scales))

    def norm(self, x: str, name: str) -> str:
        return self.graph.norm(x, self.plain(f"{name}.weight"), self.plain(f"{name}.bias"), 1e-5)

    def layer(self, x: str, number: int, bias: str) -> str:
        """Tokens look at what was read before them (`past_key.N`, `past_value.N`: the context, for claims) and at
        themselves."""
        graph, heads, name = self.graph, self.shape.heads, f"layers.{number}"
        each = self.shape.width // heads
        every = graph.node("Reshape", self.linear(rounded(graph, x), f"{name}.qkv"), graph.whole([-1, 3, heads, each]))
        three = graph.node("Transpose", every, perm=[1, 2, 0, 3])
        query = graph.node("Gather", three, graph.whole(0), axis=0)
        key, value = (
            graph.node("Concat", f"past_{kind}.{number}", self.own(three, at, f"new_{kind}.{number}"), axis=1)
            for at, kind in ((1, "key"), (2, "value"))
        )
        turned = graph.node("Transpose", key, perm=[0, 2, 1])
        scores = graph.node("Mul", graph.node("MatMul", query, turned), graph.real(each**-0.5))
        shares = graph.node("Softmax", graph.node("Add", scores, bias), axis=-1)
        seen = graph.node("Transpose", graph.node("MatMul", shares, value), perm=[1, 0, 2])
        seen = graph.node("Reshape", seen, graph.whole([-1, self.shape.width]))
        x = self.norm(graph.node("Add", x, self.linear(rounded(graph, seen), f"{name}.mix")), f"{name}.mix_norm")
        wide = graph.node("Gelu", self.linear(rounded(graph, x), f"{name}.widen"), domain=MICROSOFT)
        return self.norm(graph.node("Add", x, self.linear(rounded(graph, wide), f"{name}.narrow")), f"{name}.norm")

    def own(self, three: str, at: int, name: str) -> str:
        return self.graph.node("Gather", three, self.graph.whole(at), axis=0, name=name)

    def write(self, path: Path) -> None:
        graph = self.graph
        words = self.looked_up("ids")
        places = graph.node("Gather", graph.half(self.plain("places.weight")[2:]), "places")
        x = self.norm(graph.node("Add", words, places), "start_norm")
        hidden = np.full((1, self.shape.heads), -1e4, np.float32)
        distances = np.concatenate([self.plain("distances.weight"), hidden])
        if len(distances) != HIDDEN + 1:
            raise ValueError(f"{len(distances) - 1} buckets of distances; the product knows {HIDDEN}")
        bias = graph.node("Transpose", graph.node("Gather", graph.real(distances), "buckets"), perm=[2, 0, 1])
        for layer in range(self.shape.layers):
            x = self.layer(x, layer, bias)
        head = graph.node("MatMul", x, graph.real(self.plain("head.weight").T))
        graph.node("Add", head, graph.real(self.plain("head.bias")), name="outputs")
        inputs: dict[str, Any] = {"ids": ("tokens",), "places": ("tokens",), "buckets": ("tokens", "seen")}
        outputs: dict[str, Any] = {"outputs": ("tokens", len(OUTPUTS))}
        each = self.shape.width // self.shape.heads
        kept = [f"{kind}.{layer}" for layer in range(self.shape.layers) for kind in ("key", "value")]
        inputs |= {f"past_{name}": (self.shape.heads, "before", each) for name in kept}
        outputs |= {f"new_{name}": (self.shape.heads, "tokens", each) for name in kept}
        graph.save(path, inputs, outputs)


def trained(path: Path) -> dict[str, Tensor]:
    """The running mean where there is one."""
    state = torch.load(path, weights_only=True, map_location="cpu")
    return {**state["net"], **state["average"]}


def export(weights: Mapping[str, Tensor], start: Path, folder: Path, shape: Shape | None = None) -> None:
    shape = shape or Shape()
    folder.mkdir(parents=True, exist_ok=True)
    writer = _Writer(weights, shape)
    writer.write(folder / "model.onnx")
    save(writer.packed, folder / packed_weights.FILE)
    tidy_tokenizer(start / "tokenizer.json", folder / "tokenizer.json")
    told = DESCRIPTION.format(layers=shape.layers, width=shape.width, tokens=shape.positions - 2)
    (folder / "model.toml").write_text(told, encoding="utf-8")


def main(argv: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("reader", type=Path)
    options.add_argument("--start", type=Path, required=True)
    options.add_argument("--out", type=Path, required=True)
    given = options.parse_args(argv)
    export(trained(given.reader), given.start, given.out)


if __name__ == "__main__":
    main()
