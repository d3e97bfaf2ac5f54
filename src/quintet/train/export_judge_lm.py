"""The small language model (Llama layout) as an ONNX graph that continues from kept keys and values.

Weights: `emb.weight`, `norm.weight`, `blocks.N.{n1,q,k,v,o,n2,gate,up,down}.weight`. A matrix may be stored in parts
(`train.evaluator.language_grid`); then what is multiplied with it is rounded too, as in training.

ids [l], past [layers, 2, key-value heads, p, d], rows [n], targets [n] → logp [n]: log-probability of targets[i] after
ids[rows[i]]; fresh [layers, 2, key-value heads, l, d]: the keys and values of `ids`, to be put behind `past`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from quintet.errors import ModelError
from quintet.train.export_evaluator import tidy_tokenizer
from quintet.train.export_graph import Array, Graph, log_probability
from quintet.train.export_rounded import Input, Packed, Rows, WordTable, product, rounded

Weight = Array | Packed | Rows


@dataclass(frozen=True)
class Shape:
    """What the weights do not say by themselves; SmolLM2-135M's numbers."""

    heads: int = 9
    theta: float = 100_000.0
    """Base of the rotary positions."""
    epsilon: float = 1e-5
    max_tokens: int = 2048
    """Keys and values of so many sub-words are kept at most (46 kB each); the model itself was made for 8192."""


SMOLLM2 = Shape()


def together(weights: Mapping[str, Array]) -> dict[str, Weight]:
    """Tensors by name, those stored in parts as one."""
    parts: dict[str, dict[str, Array]] = {}
    found: dict[str, Weight] = {}
    for name, value in weights.items():
        whole, bar, part = name.partition("|")
        if bar:
            parts.setdefault(whole, {})[part] = np.asarray(value)
        else:
            found[name] = np.asarray(value, np.float32)
    for name, own in parts.items():
        if set(own) == {"q", "l", "h", "s"}:
            found[name] = Packed(own["q"], own["l"], own["h"], own["s"])
        elif set(own) == {"q", "s"}:
            found[name] = Rows(own["q"], own["s"])
        else:
            raise ModelError(f"{name} is stored in parts: q and s, or q, l, h and s, not {', '.join(sorted(own))}")
    return found


class _LanguageModel:
    def __init__(self, weights: Mapping[str, Array], shape: Shape) -> None:
        self.weights, self.shape, self.graph = together(weights), shape, Graph()
        self.small = isinstance(self.weight("blocks.0.q.weight"), Packed)
        self.layers = len({name.split(".")[1] for name in self.weights if name.startswith("blocks.")})
        self.width = len(self.plain("norm.weight"))
        self.each = self.width // shape.heads
        self.groups = self._outputs("blocks.0.k.weight") // self.each
        """Key-value heads; each serves several query heads."""

    def weight(self, name: str) -> Weight:
        if name not in self.weights:
            raise ModelError(f"the weights of the language model have no tensor {name!r}")
        return self.weights[name]

    def plain(self, name: str) -> Array:
        found = self.weight(name)
        return found if isinstance(found, np.ndarray) else found.matrix()

    def _outputs(self, name: str) -> int:
        found = self.weight(name)
        return len(found if isinstance(found, np.ndarray) else found.codes)

    def rounded(self, x: str) -> Input:
        return rounded(self.graph, x) if self.small else Input(x, "")

    def raw(self, x: Input, name: str, factor: float = 1.0) -> str:
        """The product without the tokens' scales: they wait until they cost least."""
        found = self.weight(name)
        if isinstance(found, Packed):
            return product(self.graph, x, found, factor)
        return self.graph.node("MatMul", x.codes, self.graph.real(self.plain(name).T * np.float32(factor)))

    def scaled(self, x: str, *scales: str) -> str:
        for scale in scales:
            x = self.graph.node("Mul", x, scale) if scale else x
        return x

    def norm(self, x: str, name: str) -> str:
        return self.graph.node(
            "SimplifiedLayerNormalization", x, self.graph.real(self.plain(name)), axis=-1, epsilon=self.shape.epsilon
        )

    def places(self) -> tuple[str, str, str]:
        """Cosines and sines of the positions of `ids`, and what each of them may not look at."""
        graph = self.graph
        before = graph.node("Squeeze", graph.node("Shape", "past", start=3, end=4), graph.whole([0]))
        own = graph.node("Squeeze", graph.node("Shape", "ids", start=0, end=1), graph.whole([0]))
        total = graph.node("Add", before, own)
        all_places = graph.node("Range", graph.whole(0), total, graph.whole(1))
        mine = graph.node("Unsqueeze", graph.node("Range", before, total, graph.whole(1)), graph.whole([1]))
        steps = (1.0 / self.shape.theta ** (np.arange(0, self.each, 2) / self.each)).astype(np.float32)
        angles = graph.node("Mul", graph.float32(mine), graph.real(np.concatenate([steps, steps])[None]))
        later = graph.node("Greater", graph.node("Unsqueeze", all_places, graph.whole([0])), mine)
        mask = graph.node("Where", later, graph.real(-1e9), graph.real(0))
        # One block of rows for each query head of a group.
        mask = graph.node("Tile", mask, graph.whole([self.shape.heads // self.groups, 1]))
        return graph.node("Cos", angles), graph.node("Sin", angles), mask

    def heads(self, x: str, count: int) -> str:
        """(l, count × d) to (count, l, d)."""
        graph = self.graph
        split = graph.node("Reshape", x, graph.whole([-1, count, self.each]))
        return graph.node("Transpose", split, perm=[1, 0, 2])

    def rotated(self, x: str, cosines: str, sines: str) -> str:
        graph, half = self.graph, self.each // 2
        left, right = graph.nodes("Split", 2, x, graph.whole([half, half]), axis=-1)
        turned = graph.node("Concat", graph.node("Neg", right), left, axis=-1)
        return graph.node("Add", graph.node("Mul", x, cosines), graph.node("Mul", turned, sines))

    def attention(self, x: str, layer: int, places: tuple[str, str, str]) -> tuple[str, str]:
        """What the layer adds to its input, and the new keys and values [1, 2, groups, l, d]."""
        graph, name = self.graph, f"blocks.{layer}."
        y = self.rounded(x)
        cosines, sines = (self.scaled(part, y.scale) for part in places[:2])
        # The scale of attention is a power of two and goes into the queries.
        query = self.heads(self.raw(y, f"{name}q.weight", self.each**-0.5), self.shape.heads)
        key = self.heads(self.raw(y, f"{name}k.weight"), self.groups)
        query, key = self.rotated(query, cosines, sines), self.rotated(key, cosines, sines)
        value = self.heads(self.scaled(self.raw(y, f"{name}v.weight"), y.scale), self.groups)
        kept = [graph.node("Gather", graph.node("Gather", "past", graph.whole(layer)), graph.whole(i)) for i in (0, 1)]
        keys = graph.node("Concat", kept[0], key, axis=1)
        values = graph.node("Concat", kept[1], value, axis=1)
        # Query heads of a group lie under one another, so that its keys are multiplied once and never repeated.
        rows = graph.node("Reshape", query, graph.whole([self.groups, -1, self.each]))
        scores = graph.node("MatMul", rows, graph.node("Transpose", keys, perm=[0, 2, 1]))
        scores = graph.node("Add", scores, places[2])
        mixed = graph.node("MatMul", graph.node("Softmax", scores, axis=-1), values)
        lengths = graph.node("Concat", graph.whole([self.shape.heads]), graph.node("Shape", "ids"),
                             graph.whole([self.each]), axis=0)  # fmt: skip
        back = graph.node("Transpose", graph.node("Reshape", mixed, lengths), perm=[1, 0, 2])
        flat = graph.node("Reshape", back, graph.whole([-1, self.width]))
        given = self.rounded(flat)
        both = [graph.node("Unsqueeze", part, graph.whole([0, 1])) for part in (key, value)]
        return self.scaled(self.raw(given, f"{name}o.weight"), given.scale), graph.node("Concat", *both, axis=1)

    def gated(self, x: str, layer: int) -> str:
        graph, name = self.graph, f"blocks.{layer}."
        y = self.rounded(x)
        gate = self.scaled(self.raw(y, f"{name}gate.weight"), y.scale)
        opened = graph.node("Mul", gate, graph.node("Sigmoid", gate))
        # Rounding makes every token as large as any other, so the scale may come after it.
        inner = self.rounded(graph.node("Mul", opened, self.raw(y, f"{name}up.weight")))
        return self.scaled(self.raw(inner, f"{name}down.weight"), self.scaled(inner.scale, y.scale))

    def words(self, picked: str, table: WordTable | str) -> str:
        """Logits over the vocabulary."""
        if isinstance(table, str):
            return self.graph.node("Gemm", picked, table, transB=1)
        state = self.rounded(picked)
        return self.scaled(table.against(state), state.scale)

    def write(self, path: Path) -> None:
        graph, tied = self.graph, self.weight("emb.weight")
        table = WordTable.put(graph, tied) if isinstance(tied, Rows) else graph.real(self.plain("emb.weight"))
        x = graph.node("Gather", table, "ids") if isinstance(table, str) else table.looked_up("ids")
        places, fresh = self.places(), []
        for layer in range(self.layers):
            name = f"blocks.{layer}."
            added, kept = self.attention(self.norm(x, f"{name}n1.weight"), layer, places)
            x = graph.node("Add", x, added)
            x = graph.node("Add", x, self.gated(self.norm(x, f"{name}n2.weight"), layer))
            fresh.append(kept)
        graph.node("Concat", *fresh, axis=0, name="fresh")
        picked = graph.node("Gather", self.norm(x, "norm.weight"), "rows")
        log_probability(graph, self.words(picked, table), "targets", "logp")
        states = (self.layers, 2, self.groups)
        graph.save(
            path,
            {"ids": ("length",), "past": (*states, "before", self.each), "rows": ("rows",), "targets": ("rows",)},
            {"logp": ("rows",), "fresh": (*states, "length", self.each)},
        )


def export_judge_lm(
    weights: Mapping[str, Array],
    folder: Path,
    tokenizer: Path,
    shape: Shape = SMOLLM2,
    *,
    name: str = "judge-lm",
    start: str = "<|im_start|>",
    end: str = "<|endoftext|>",
) -> Path:
    """model.onnx, model.toml and tokenizer.json in `folder`, to be opened by `dir:` in the role causal-lm."""
    made = _LanguageModel(weights, shape)
    folder.mkdir(parents=True, exist_ok=True)
    made.write(folder / "model.onnx")
    tidy_tokenizer(tokenizer, folder / "tokenizer.json")
    (folder / "model.toml").write_text(
        f"""name = {json.dumps(name)}
role = "causal-lm"
layers = {made.layers}
width = {made.width}
max_tokens = {shape.max_tokens}
precision = "{"int8-arithmetic" if made.small else "fp32"}"
start = {json.dumps(start)}
end = {json.dumps(end)}
states = [{made.layers}, 2, {made.groups}, {made.each}]
""",
        encoding="utf-8",
    )
    return folder
