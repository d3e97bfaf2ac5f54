"""The small language model (Llama layout) as an ONNX graph that continues from kept keys and values.

Weights: `emb.weight`, `norm.weight`, `blocks.N.{n1,q,k,v,o,n2,gate,up,down}.weight`. A matrix may be stored in parts
(`train.evaluator.language_grid`); then what is multiplied with it is rounded too, as in training.

ids [l], past_key_N and past_value_N [1, key-value heads, p, d], rows [n], targets [n] → logp [n]: log-probability of
targets[i] after ids[rows[i]]; present_key_N and present_value_N [1, key-value heads, p + l, d].

Weights may hold heads (`models.lm_heads`): these go into a file of their own, and the graph has one more output, states
[l, width], after the last norm.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from quintet.errors import ModelError
from quintet.models import lm_heads, packed_weights
from quintet.models.folder import HEADS
from quintet.models.onnx_lm import state_names
from quintet_train.evaluator.groups import QUESTIONS
from quintet_train.export_evaluator import tidy_tokenizer
from quintet_train.export_graph import MICROSOFT, Array, Graph, log_probability
from quintet_train.export_rounded import Input, Packed, Rows, WordTable, product, rounded, save
from quintet_train.torch_parts import need

Weight = Array | Packed | Rows


@dataclass(frozen=True)
class Shape:
    """What the weights do not say by themselves; SmolLM2-135M's numbers."""

    heads: int = 9
    theta: float = 100_000.0
    """Base of the rotary positions."""
    epsilon: float = 1e-5
    max_tokens: int = 2048
    """Keys and values of so many tokens are kept at most (46 kB each); the model itself was made for 8192."""


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
        self.packed: dict[str, Packed | Rows] = {}
        """Matrices that go into a file of their own."""
        self.small = isinstance(self.weight("blocks.0.q.weight"), Packed)
        self.layers = len({name.split(".")[1] for name in self.weights if name.startswith("blocks.")})
        self.width = len(self.plain("norm.weight"))
        self.each = self.width // shape.heads
        self.groups = self._outputs("blocks.0.k.weight") // self.each
        """Key-value heads; each serves several query heads."""
        self.judges = any(name in self.weights for name in lm_heads.shapes(0, 0))
        """Whether there are heads that judge a text."""

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

    def raw(self, x: Input, name: str, matrix: Weight) -> str:
        """The product without the tokens' scales: they wait until they cost least."""
        if isinstance(matrix, Packed):
            self.packed[name] = matrix
            return product(self.graph, x, name, matrix)
        return self.graph.node("MatMul", x.codes, self.graph.real(np.asarray(matrix).T))

    def linear(self, x: Input, name: str) -> str:
        return self.raw(x, name, self.weight(name))

    def scaled(self, x: str, *scales: str) -> str:
        for scale in scales:
            x = self.graph.node("Mul", x, scale) if scale else x
        return x

    def norm(self, x: str, name: str, result: str = "") -> str:
        return self.graph.node(
            "SimplifiedLayerNormalization", x, self.graph.real(self.plain(name)), axis=-1, epsilon=self.shape.epsilon,
            name=result,
        )  # fmt: skip

    def lengths(self) -> tuple[str, str]:
        """How many tokens there are with those read before: as the place of the last one, and as they are."""
        graph = self.graph
        before = graph.node("Shape", state_names(1).past[0], start=2, end=3)
        total = graph.node("Cast", graph.node("Add", before, graph.node("Shape", "ids")), to=TensorProto.INT32)
        one = graph.constant([1], np.int32)
        return graph.node("Sub", total, one), graph.node("Squeeze", total, graph.whole([0]))

    def turns(self) -> tuple[str, str]:
        """Cosines and sines of all places; for heads also that of the line break after a text that fills the model."""
        places = np.arange(self.shape.max_tokens + self.judges)
        steps = 1.0 / self.shape.theta ** (np.arange(0, self.each, 2) / self.each)
        angles = places[:, None] * steps[None]
        return self.graph.real(np.cos(angles)), self.graph.real(np.sin(angles))

    def three(self, layer: int) -> Weight:
        """Queries, keys and values as one matrix."""
        found = [self.weight(f"blocks.{layer}.{part}.weight") for part in "qkv"]
        packed = [one for one in found if isinstance(one, Packed)]
        if len(packed) == len(found):
            return Packed(*(np.concatenate([getattr(one, part.name) for one in packed]) for part in fields(Packed)))
        return np.concatenate([self.plain(f"blocks.{layer}.{part}.weight") for part in "qkv"])

    def attention(self, x: str, layer: int, lengths: tuple[str, str], turns: tuple[str, str]) -> str:
        """What the layer adds to its input."""
        graph, name = self.graph, f"blocks.{layer}."
        y = self.rounded(x)
        every = self.scaled(self.raw(y, f"{name}qkv.weight", self.three(layer)), y.scale)
        names, at = state_names(self.layers), slice(2 * layer, 2 * layer + 2)
        mixed, *_ = graph.nodes(
            "GroupQueryAttention", ("", *names.present[at]), graph.node("Unsqueeze", every, graph.whole([0])), "", "",
            *names.past[at], *lengths, *turns, domain=MICROSOFT, num_heads=self.shape.heads, kv_num_heads=self.groups,
            do_rotary=1,
        )  # fmt: skip
        given = self.rounded(graph.node("Squeeze", mixed, graph.whole([0])))
        return self.scaled(self.linear(given, f"{name}o.weight"), given.scale)

    def gated(self, x: str, layer: int) -> str:
        graph, name = self.graph, f"blocks.{layer}."
        y = self.rounded(x)
        gate = self.scaled(self.linear(y, f"{name}gate.weight"), y.scale)
        opened = graph.node("Mul", gate, graph.node("Sigmoid", gate))
        # Rounding makes every token as large as any other, so the scale may come after it.
        inner = self.rounded(graph.node("Mul", opened, self.linear(y, f"{name}up.weight")))
        return self.scaled(self.linear(inner, f"{name}down.weight"), self.scaled(inner.scale, y.scale))

    def table(self, name: str = "emb.weight") -> WordTable | str:
        found = self.weight(name)
        if not isinstance(found, Rows):
            return self.graph.real(self.plain(name))
        self.packed[name] = found
        return WordTable.put(self.graph, name, found)

    def words(self, states: str, table: WordTable | str) -> str:
        """Logits over the vocabulary at `rows`, of which there may be none: the largest of nothing is not asked for."""
        graph = self.graph
        if isinstance(table, str):
            return graph.node("Gemm", graph.node("Gather", states, "rows"), table, transB=1)
        every = self.rounded(states)
        picked = Input(graph.node("Gather", every.codes, "rows"), graph.node("Gather", every.scale, "rows"))
        return self.scaled(table.against(picked), picked.scale)

    def write(self, path: Path) -> None:
        graph, table = self.graph, self.table()
        x = graph.node("Gather", table, "ids") if isinstance(table, str) else table.looked_up("ids")
        lengths, turns = self.lengths(), self.turns()
        for layer in range(self.layers):
            name = f"blocks.{layer}."
            x = graph.node("Add", x, self.attention(self.norm(x, f"{name}n1.weight"), layer, lengths, turns))
            x = graph.node("Add", x, self.gated(self.norm(x, f"{name}n2.weight"), layer))
        states = self.norm(x, "norm.weight", "states" if self.judges else "")
        log_probability(graph, self.words(states, table), "targets", "logp")
        names = state_names(self.layers)
        past = dict.fromkeys(names.past, (1, self.groups, "before", self.each))
        present = dict.fromkeys(names.present, (1, self.groups, "total", self.each))
        given: dict[str, Sequence[str | int]] = {"states": ("length", self.width)} if self.judges else {}
        graph.save(path, {"ids": ("length",), **past, "rows": ("rows",), "targets": ("rows",)},
                   {"logp": ("rows",), **present, **given})  # fmt: skip

    def heads(self, questions: Sequence[str], taught: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """Their tensors, which no grid has rounded; none if there are none."""
        if bool(taught) != self.judges:
            there = "the weights hold heads" if self.judges else "the weights hold no heads"
            raise ModelError(f"{there} and {', '.join(taught) or 'none'} of them were taught")
        found: dict[str, NDArray[np.float32]] = {}
        for name in lm_heads.shapes(0, 0) if self.judges else ():
            tensor = self.weight(name)
            if not isinstance(tensor, np.ndarray):
                raise ModelError(f"{name} of the language model's heads is rounded; heads are kept as they are")
            found[name] = np.ascontiguousarray(tensor, np.float32)
        if found:
            lm_heads.check(found, self.width, questions, taught)
        return found


def export_judge_lm(
    weights: Mapping[str, Array],
    folder: Path,
    tokenizer: Path,
    shape: Shape = SMOLLM2,
    *,
    name: str = "judge-lm",
    start: str = "<|im_start|>",
    end: str = "<|endoftext|>",
    questions: Sequence[str] = tuple(QUESTIONS),
    taught: Sequence[str] = (),
) -> Path:
    """model.onnx, model.toml and tokenizer.json in `folder`, to be opened by `dir:` in the role causal-lm; and heads.

    `questions`: what the rows of the heads ask; `taught`: which of them, of `nli` and of `words` were trained."""
    made = _LanguageModel(weights, shape)
    heads = made.heads(questions, taught)
    folder.mkdir(parents=True, exist_ok=True)
    made.write(folder / "model.onnx")
    if made.packed:
        save(made.packed, folder / packed_weights.FILE)
    if heads:
        (folder / HEADS).write_bytes(need("safetensors.numpy").save(heads))
    told = {"questions": list(questions), "taught": list(taught)} if heads else {}
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
"""
        + "".join(f"{key} = {json.dumps(value)}\n" for key, value in told.items()),
        encoding="utf-8",
    )
    return folder
