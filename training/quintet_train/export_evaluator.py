"""The multi-task encoder as an ONNX graph: all heads, entailment, words, and masked words, in one pass.

An output looks at itself and at its grounds; grounds look at themselves only. So keys and values of grounds are read
off a run of their own (`fresh_key_N`, `fresh_value_N`) and given to every run of an output beside them (`past_key_N`,
`past_value_N`), without a copy for each text: all texts of a run stand beside the same grounds. `mask` is 1 where a
token stands.

Weights: BERT with `enc.word`, `enc.pos`, `enc.typ`, `enc.ln`, `enc.layers.N.{qkv,o,ln1,up,down,ln2}`; `pool` over
(first state; mean of the output's states); `heads`, `nli`, `tok`; and `mlm.dense`, `mlm.norm`, `mlm.bias` over the
word table. A table packed as int8 rows with one scale each (`NAME.q`, `NAME.s`) is kept as it is.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from quintet.errors import ModelError
from quintet.models.onnx_judge import Names, fresh_names, past_names
from quintet_train.export_graph import MICROSOFT, Array, Codes, Graph, Weight, log_probability, quantised
from quintet_train.torch_parts import need

EPSILON = 1e-12
HEAD_WIDTH = 32
NEVER = 1e9
"""Less likely by so much: exactly zero after a softmax."""
INPUTS = ("ids", "types", "mask", "output_mask")
LONGEST_OUTPUT = 190
"""Tokens of the judged output; at most half of what the model takes."""
ALIASES = {
    "doc_to_summ": "con",
    "summ_to_ref": "cov",
    "sent_to_sent": "adq",
    "fact_to_response": "gro",
    "fact_history_to_response": "gro",
}
"""The head that stands in for CTC's regressor of a relation."""

Weights = Mapping[str, Array]


def read_weights(path: Path) -> dict[str, Array]:
    found: dict[str, Array] = need("safetensors.numpy").load_file(path)
    return found


@dataclass(frozen=True)
class _Places:
    """What all layers share: names of shapes, and of what is added where no token stands."""

    hidden: str
    apart: str
    """(heads, texts, tokens, grounds)"""
    together: str
    """(heads, texts × tokens, grounds)"""
    mixed: str
    """(heads, texts, tokens, width of a head)"""
    lengths: str
    """Of the grounds and of the texts."""


class _Evaluator:
    def __init__(self, weights: Weights, small: bool) -> None:
        self.weights, self.small = weights, small
        self.graph = Graph()
        self.width = self.array("enc.ln.weight").shape[0]
        self.table = self.graph.table(self._words())
        self.layers = len({name.split(".")[2] for name in weights if name.startswith("enc.layers.")})
        self.heads = max(1, self.width // HEAD_WIDTH)
        self.each = self.width // self.heads

    def array(self, name: str) -> Array:
        try:
            return np.asarray(self.weights[name], np.float32)
        except KeyError:
            raise ModelError(f"the weights of the evaluator have no tensor {name!r}") from None

    def _words(self) -> Weight:
        if "enc.word.weight.q" not in self.weights:
            whole = self.array("enc.word.weight")
            return quantised(whole) if self.small else whole
        packed = Codes(self.weights["enc.word.weight.q"], self.weights["enc.word.weight.s"].astype(np.float32))
        return packed if self.small else packed.matrix()

    def linear(self, x: str, name: str, part: slice = slice(None)) -> str:
        matrix = self.array(f"{name}.weight")[part]
        return self.graph.linear(x, quantised(matrix) if self.small else matrix, self.array(f"{name}.bias")[part])

    def norm(self, x: str, name: str) -> str:
        return self.graph.norm(x, self.array(f"{name}.weight"), self.array(f"{name}.bias"), EPSILON)

    def states(self) -> str:
        graph = self.graph
        length = graph.node("Shape", "ids", start=1, end=2)
        zero = graph.whole([0])
        positions = graph.node("Slice", graph.half(self.array("enc.pos.weight")), zero, length, zero)
        sides = graph.node("Gather", graph.real(self.array("enc.typ.weight")), "types")
        x = graph.node("Add", graph.looked_up(self.table, "ids", [0, 0, self.width]), positions)
        x = self.norm(graph.node("Add", x, sides), "enc.ln")
        places = self._places()
        for index, states in enumerate(zip(past_names(self.layers), fresh_names(self.layers), strict=True)):
            x = self._layer(x, f"enc.layers.{index}", *states, places)
        return x

    def _layer(self, x: str, name: str, past: tuple[str, str], fresh: tuple[str, str], places: _Places) -> str:
        graph, h = self.graph, self.width
        parts = [self.linear(x, f"{name}.qkv", slice(i * h, (i + 1) * h)) for i in range(3)]
        query, key, value = map(self._heads_first, parts, ("", *fresh))
        mixed = self._attended(query, (key, value), past, places)
        attended = graph.node("Reshape", graph.node("Transpose", mixed, perm=[1, 2, 0, 3]), graph.whole([0, 0, h]))
        x = self.norm(graph.node("Add", self.linear(attended, f"{name}.o"), x), f"{name}.ln1")
        wide = graph.node("Gelu", self.linear(x, f"{name}.up"), domain=MICROSOFT)
        return self.norm(graph.node("Add", self.linear(wide, f"{name}.down"), x), f"{name}.ln2")

    def _heads_first(self, x: str, name: str) -> str:
        """(texts, tokens, width) to (heads, texts, tokens, width of a head)."""
        split = self.graph.node("Reshape", x, self.graph.whole([0, 0, self.heads, self.each]))
        return self.graph.node("Transpose", split, perm=[2, 0, 1, 3], name=name)

    def _places(self) -> _Places:
        graph = self.graph
        texts, length = (graph.node("Shape", "ids", start=i, end=i + 1) for i in (0, 1))
        beside = graph.node("Shape", past_names(1)[0][0], start=1, end=2)
        heads = graph.whole([self.heads])
        absent = graph.node("Sub", graph.float32("mask"), graph.real(1))
        return _Places(
            graph.node("Unsqueeze", graph.node("Mul", absent, graph.real(NEVER)), graph.whole([0, 2])),
            graph.node("Concat", heads, texts, length, beside, axis=0),
            graph.node("Concat", heads, graph.node("Mul", texts, length), beside, axis=0),
            graph.node("Concat", heads, texts, length, graph.whole([self.each]), axis=0),
            graph.node("Concat", beside, length, axis=0),
        )

    def _attended(self, query: str, own: tuple[str, str], past: tuple[str, str], places: _Places) -> str:
        """One softmax over the grounds' keys and a text's own. With heads first, the grounds' part is one product for
        all tokens of all texts, and nothing of the grounds is copied."""
        graph, scale = self.graph, float(self.each**-0.5)
        flat = graph.node("Reshape", query, graph.whole([self.heads, -1, self.each]))
        there = graph.node("FusedMatMul", flat, past[0], domain=MICROSOFT, transB=1, alpha=scale)
        here = graph.node("FusedMatMul", query, own[0], domain=MICROSOFT, transB=1, alpha=scale)
        there = graph.node("Reshape", there, places.apart, allowzero=1)
        scores = graph.node("Concat", there, graph.node("Add", here, places.hidden), axis=-1)
        there, here = graph.nodes("Split", 2, graph.node("Softmax", scores, axis=-1), places.lengths, axis=-1)
        there = graph.node("MatMul", graph.node("Reshape", there, places.together, allowzero=1), past[1])
        return graph.node("Add", graph.node("Reshape", there, places.mixed), graph.node("MatMul", here, own[1]))

    def answers(self, x: str) -> None:
        """pooled = tanh(W [first state; mean of the output's states]); the heads read it."""
        graph, last = self.graph, self.graph.whole([2])
        inside = graph.node("Unsqueeze", graph.float32("output_mask"), graph.whole([1]))
        count = graph.node("Max", graph.node("ReduceSum", inside, last, keepdims=1), graph.real(1))
        first = graph.node("Slice", x, graph.whole([0]), graph.whole([1]), graph.whole([1]))
        both = graph.node("Concat", first, graph.node("Div", graph.node("MatMul", inside, x), count), axis=-1)
        # The matrix on the left makes one product per text, so that a text is the same however many there are.
        column = graph.node("Transpose", both, perm=[0, 2, 1])
        product = graph.node("Squeeze", graph.node("MatMul", graph.half(self.array("pool.weight")), column), last)
        pooled = graph.node("Tanh", graph.node("Add", product, graph.real(self.array("pool.bias"))), name="pooled")
        for name in ("heads", "nli"):
            graph.dots(pooled, self.array(f"{name}.weight"), self.array(f"{name}.bias"), name)
        product = graph.node("Mul", x, graph.real(self.array("tok.weight")[0]))
        graph.node(
            "Add", graph.node("ReduceSum", product, graph.whole([-1]), keepdims=0),
            graph.real(self.array("tok.bias")), name="words",
        )  # fmt: skip

    def masked_words(self, x: str) -> None:
        graph = self.graph
        picked = graph.node("GatherND", x, "rows")
        dense = graph.node("Gelu", self.linear(picked, "mlm.dense"), domain=MICROSOFT)
        product = graph.against(self.norm(dense, "mlm.norm"), self.table)
        logits = graph.node("Add", product, graph.real(self.array("mlm.bias")))
        log_probability(graph, logits, "targets", "word_logp")

    def write(self, path: Path) -> None:
        x = self.states()
        self.answers(x)
        self.masked_words(x)
        two: tuple[str | int, ...] = ("texts", "subwords")
        past = _shaped(past_names(self.layers), (self.heads, "grounds", self.each))
        fresh = _shaped(fresh_names(self.layers), (self.heads, *two, self.each))
        self.graph.save(
            path,
            {**dict.fromkeys(INPUTS, two), **past, "rows": ("rows", 2), "targets": ("rows",)},
            {
                **fresh,
                "heads": ("texts", len(self.array("heads.bias"))),
                "nli": ("texts", 3),
                "words": two,
                "pooled": ("texts", self.width),
                "word_logp": ("rows",),
            },
        )


def _shaped(names: Names, shape: tuple[str | int, ...]) -> dict[str, Sequence[str | int]]:
    return {name: shape for both in names for name in both}


def export_evaluator(
    weights: Weights,
    folder: Path,
    tokenizer: Path,
    questions: Sequence[str],
    *,
    name: str = "evaluator",
    precision: str = "int8",
    samples: Sequence[tuple[str, str]] = (),
    together: Collection[str] = (),
) -> Path:
    """model.onnx, model.toml and tokenizer.json in `folder`, to be opened by `dir:`; precision int8 (weights), fp32, or
    int8-arithmetic, which finds its scales on `samples` (outputs and grounds). `together`: questions for which output
    and grounds are read as one text."""
    made = _made(weights, precision, tokenizer, samples)
    asked = len(made.array("heads.bias"))
    if asked != len(questions):
        raise ModelError(f"the weights have {asked} heads, and {len(questions)} questions are named")
    aliases = ", ".join(f"{other} = {json.dumps(head)}" for other, head in ALIASES.items() if head in questions)
    folder.mkdir(parents=True, exist_ok=True)
    made.write(folder / "model.onnx")
    tidy_tokenizer(tokenizer, folder / "tokenizer.json")
    (folder / "model.toml").write_text(
        f"""name = {json.dumps(name)}
role = "judge"
layers = {made.layers}
width = {made.width}
max_tokens = {len(made.array("enc.pos.weight"))}
precision = {json.dumps(precision)}
states = [{made.layers}, 2, {made.heads}, {made.each}]
longest_output = {min(LONGEST_OUTPUT, len(made.array("enc.pos.weight")) // 2)}
questions = {json.dumps(list(questions))}
together = {json.dumps([name for name in questions if name in together])}
aliases = {{ {aliases} }}
""",
        encoding="utf-8",
    )
    return folder


def _made(weights: Weights, precision: str, tokenizer: Path, samples: Sequence[tuple[str, str]]) -> _Evaluator:
    if precision != "int8-arithmetic":
        return _Evaluator(weights, precision == "int8")
    from quintet_train.export_integer import IntegerEvaluator, watch

    if not samples:
        raise ModelError("8-bit arithmetic needs sample texts to find its scales on")
    return IntegerEvaluator(weights, watch(weights, tokenizer, samples))


def tidy_tokenizer(source: Path, target: Path) -> None:
    """Without the padding and truncation of whoever saved it."""
    settings = json.loads(source.read_text(encoding="utf-8"))
    settings["truncation"] = settings["padding"] = None
    target.write_text(json.dumps(settings, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")
