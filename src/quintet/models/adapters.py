"""Other roles from the heads of a bundled model: pairs, tags, regression, order, masked likelihood, yes or no."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quintet.errors import ModelError
from quintet.models.batching import equal_batches
from quintet.models.folder import HEAD, Description
from quintet.models.lm_heads import ENTAILMENT, WORDS
from quintet.models.masked import MaskedLikelihood, Probe
from quintet.models.onnx_backend import TOKEN_BUDGET
from quintet.models.onnx_judge import WORDS as VOCABULARY
from quintet.models.onnx_judge import Asked, Key, OnnxJudge
from quintet.models.onnx_lm import LINE_BREAK, OnnxCausalLM
from quintet.models.packed_weights import read_all
from quintet.models.roles import (
    WHOLE,
    YES_NO,
    Answer,
    Limits,
    Model,
    Pair,
    PairModel,
    PairScore,
    PromptModel,
    one_text,
    only_yes_no,
)
from quintet.models.subwords import Pieces, shares, words_of

# Questions in words, answered by the heads of a judge; which heads look at what stands in questions.toml.

_ASKS = "question: "
_BETWEEN_TURNS = "\n"
_OTHER_MODEL = "bundled:judge-lm"


@dataclass(frozen=True)
class Question:
    heads: tuple[tuple[str, str], ...]
    """The head, and the label of the segment that it looks at beside the output; no label: nothing."""
    turns: int = 0
    """Of a segment that is a dialogue, how many of the last turns; 0: the segment as it stands."""


@cache
def known_questions() -> Mapping[str, Question]:
    rows = tomllib.loads(files("quintet.models").joinpath("questions.toml").read_text(encoding="utf-8"))["question"]
    return {row["text"]: Question(tuple((h, s) for h, s in row["heads"]), row.get("turns", 0)) for row in rows}


class JudgeYesNo(PromptModel):
    """Yes or No from heads. With a head given (`#acc`), every question is answered by it, all segments after the
    output being its context; without, the question itself says which heads answer."""

    def __init__(self, judge: OnnxJudge, identity: str, spec: str, head: str = "") -> None:
        self._judge, self._spec, self._head = judge, spec, head
        self.identity, self.max_tokens = identity, judge.max_tokens

    def answers(
        self,
        prompts: Sequence[Sequence[str]],
        options: tuple[str, ...] = YES_NO,
        *,
        max_tokens: int | None = None,
        samples: int = 1,
    ) -> list[Answer]:
        """`max_tokens` cannot widen what the judge sees; an output is shown to it up to its own limit."""
        only_yes_no(self.identity, options)
        asked = [self._asked(list(prompt)) for prompt in prompts]
        rows = [(head, (output, context)) for output, parts in asked for head, context in parts]
        found = self._scored(rows)
        values = []
        for _, parts in asked:
            judged = [(next(found), head) for head, _ in parts]
            mean = sum(_probability(one.logits[head]) for one, head in judged) / len(judged)
            values.append(Answer.yes(mean, max(sum(one.cut) for one, _ in judged)))
        return values

    def _scored(self, rows: Sequence[tuple[str, Pair]]) -> Iterator[PairScore]:
        """In the order of the rows; each pair read in the way its head reads."""
        ways = [head in self._judge.joint for head, _ in rows]
        by_way = {
            way: iter(
                self._judge.score([pair for (_, pair), own in zip(rows, ways, strict=True) if own == way], joint=way)
            )
            for way in set(ways)
        }
        return (next(by_way[way]) for way in ways)

    def _asked(self, prompt: list[str]) -> tuple[str, list[tuple[str, tuple[str, ...]]]]:
        """The output, and for each head that answers the texts beside it."""
        if len(prompt) < 2:
            raise ModelError(f"{self._spec} needs a question and the text that is asked about")
        output = _unlabelled(prompt[1])[1]
        beside = dict(_unlabelled(segment) for segment in prompt[2:])
        if self._head:
            return output, [(self._head, tuple(beside.values()))]
        question = known_questions().get(prompt[0].removeprefix(_ASKS).strip())
        if question is None:
            raise ModelError(
                f"{self._spec} was not trained on the question {prompt[0].removeprefix(_ASKS).strip()[:60]!r}; name the"
                f" head that should answer it ({self._spec}#HEAD), or ask a language model (weak: {_OTHER_MODEL})"
            )
        return output, [(head, self._context(beside, label, question.turns)) for head, label in question.heads]

    def _context(self, beside: Mapping[str, str], label: str, turns: int) -> tuple[str, ...]:
        if not label:
            return ()
        if label not in beside:
            raise ModelError(f"this question needs the segment {label!r}; the prompt has {', '.join(beside) or 'none'}")
        if label.endswith("history") and turns:
            return tuple(turn.strip() for turn in beside[label].strip().split(_BETWEEN_TURNS)[-turns:])
        return (beside[label],)


def _unlabelled(segment: str) -> tuple[str, str]:
    label, _, text = segment.partition(": ")
    return label, text


def _probability(logit: float) -> float:
    return float(0.5 * (1.0 + np.tanh(0.5 * logit)))


# Masked likelihood by the judge's encoder and its vocabulary head.

VOCABULARY_ROWS = 128
"""Positions a run: each has a probability for every word of the vocabulary."""


class JudgeMaskedLM(MaskedLikelihood):
    def __init__(self, judge: OnnxJudge, identity: str) -> None:
        super().__init__(judge.subwords, identity, judge.max_tokens, TOKEN_BUDGET)
        self._judge = judge

    def _batches(self, probes: list[Probe]) -> list[list[int]]:
        return equal_batches([self._judge.filled(len(probe.ids) - 2) for probe in probes], self._budget)

    def _run(self, probes: list[Probe]) -> list[NDArray[np.float32]]:
        inputs = self._judge.inputs([probe.ids for probe in probes])
        owners = np.repeat(np.arange(len(probes)), [len(probe.positions) for probe in probes])
        rows = np.stack([owners, np.concatenate([probe.positions for probe in probes])], axis=1)
        answers = np.concatenate([probe.answers for probe in probes])
        session = self._judge.session((VOCABULARY,))
        found = [
            session.run([VOCABULARY], {**inputs, "rows": rows[at : at + VOCABULARY_ROWS],
                                  "targets": answers[at : at + VOCABULARY_ROWS]})[0]
            for at in range(0, len(rows), VOCABULARY_ROWS)
        ]  # fmt: skip
        return np.split(np.concatenate(found), np.cumsum([len(probe.positions) for probe in probes])[:-1])


# Other roles from a judge's heads: what the papers' single models do, done by one shared pass.

ORDER = "ord"
_EMPTY = Pieces(np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.int32))


def adapt(judge: OnnxJudge, role: str, head: str, identity: str, spec: str) -> Model:
    """The judge in another role; `head` chooses among its questions where the role asks only one."""
    if role not in _ROLES:
        raise ModelError(f"{spec} cannot fill the role {role}; it fills {', '.join(['judge', *_ROLES])}")
    return _ROLES[role](judge, head, identity, spec)


def _question(judge: OnnxJudge, head: str, spec: str) -> str:
    """The head that is meant; in words which there are, if it is none of them."""
    named = judge.aliases.get(head, head)
    if named in judge.labels:
        return named
    there = ", ".join([*judge.labels, ENTAILMENT])
    if not head:
        raise ModelError(f"{spec} answers several questions; name one as {spec}#HEAD (its heads: {there})")
    raise ModelError(f"{spec} has no head {head!r} (its heads: {there})")


def _no_head(head: str, allowed: str, spec: str, role: str) -> None:
    if head not in ("", allowed):
        raise ModelError(f"{spec} has one way to be a {role}; write {spec} instead of {spec}#{head}")


Values = Sequence[float] | NDArray[np.float32]


@dataclass(frozen=True)
class Use:
    """What a role wants of the judge's answers, and how it hands over pairs."""

    labels: tuple[str, ...]
    values: Callable[[PairScore], Values]
    """One number per label."""
    joint: bool = False
    """Whether the two texts are read as one."""
    output_at: int = 1
    """Which of the two is judged."""
    by_line: bool = False
    """Whether the lines of the context are turns of a dialogue, with the judge's separator between them."""


class PairsThroughJudge(PairModel):
    """Pairs of texts, cut as `Limits` say, through the judge."""

    def __init__(self, judge: OnnxJudge, identity: str, use: Use) -> None:
        self._judge, self._use = judge, use
        self.identity, self.max_tokens, self.labels = identity, judge.max_tokens, use.labels

    def score(self, pairs: Sequence[Pair], limits: Limits = WHOLE, joint: bool = False) -> list[PairScore]:
        """The role has settled whether both are read as one."""
        return [
            PairScore(dict(zip(self.labels, map(float, self._use.values(one)), strict=True)), cut)
            for one, cut, _ in self._judged(pairs, limits)
        ]

    def lengths(self, texts: Sequence[str]) -> list[int]:
        return [len(self._judge.split(text)) for text in texts]

    def _judged(self, pairs: Sequence[Pair], limits: Limits) -> list[tuple[PairScore, tuple[int, int], Pieces]]:
        """For each pair what the judge says, what was cut of either text, and the tokens of the output seen."""
        rows = [self._row((first, one_text(second)), limits) for first, second in pairs]
        found = self._judge.score_asked([asked for asked, _ in rows])
        return [(one, cut, asked.output) for one, (asked, cut) in zip(found, rows, strict=True)]

    def _row(self, pair: tuple[str, str | None], limits: Limits) -> tuple[Asked, tuple[int, int]]:
        own = 0 if pair[1] is None else self._use.output_at
        whole = [_EMPTY if text is None else self._judge.split(text) for text in pair]
        whole[own] = self._judge.split_output(str(pair[own]))
        if self._use.by_line and pair[1 - own] is not None:
            whole[1 - own] = self._turns(str(pair[1 - own]))
        longest = [limits.first, limits.second]
        longest[own] = min(longest[own] or self._judge.longest_output, self._judge.longest_output)
        keep = (limits.keep_first, limits.keep_second)
        kept = [_part(pieces, size, end) for pieces, size, end in zip(whole, longest, keep, strict=True)]
        sizes = [len(kept[0]), len(kept[1])]
        if limits.total is not None:
            # A joint limit is a rule of the metric, whatever the judge itself can read.
            sizes = list(shares(sizes[0], sizes[1], limits.total - 3, limits.strategy))
        sizes[1 - own] = min(sizes[1 - own], self._judge.longest_context(sizes[own], self._use.joint))
        kept = [_part(pieces, size, end) for pieces, size, end in zip(kept, sizes, keep, strict=True)]
        asked = Asked(kept[own], kept[1 - own].ids, joint=self._use.joint)
        return asked, (len(whole[0]) - len(kept[0]), len(whole[1]) - len(kept[1]))

    def _turns(self, text: str) -> Pieces:
        parts = [self._judge.split(line) for line in text.split("\n") if line.strip()]
        if len(parts) < 2:
            return self._judge.split(text)
        between = np.array([self._judge.separator], np.int64)
        ids = np.concatenate([one for part in parts for one in (between, part.ids)][1:])
        # Where contexts stand in their text is never asked for.
        nowhere = np.zeros(len(ids), np.int32)
        return Pieces(ids, nowhere, nowhere)


def _classifier(judge: OnnxJudge, head: str, identity: str, spec: str) -> PairModel:
    """The second text is judged beside the first (response beside context, hypothesis beside premise), or one alone.

    A question has two labels, no and yes: the logits [0, x], so that the second has probability sigmoid(x). The head
    `nli` has three. Lines of the first text are turns, except for `nli`.
    """
    if head == ENTAILMENT:
        use = Use(("entailed", "neutral", "contradicted"), _entailment, ENTAILMENT in judge.joint)
        return PairsThroughJudge(judge, identity, use)
    named = _question(judge, head, spec)
    use = Use(("no", "yes"), lambda one: (0.0, one.logits[named]), named in judge.joint, by_line=True)
    return PairsThroughJudge(judge, identity, use)


def _entailment(one: PairScore) -> NDArray[np.float32]:
    return np.log(np.maximum(one.entailment, np.float32(1e-12)))


def _regressor(judge: OnnxJudge, head: str, identity: str, spec: str) -> PairModel:
    """P(yes) of one head for the second text beside the first, as CTC-R reads context and candidate."""
    named = _question(judge, head, spec)
    use = Use(("value",), lambda one: (_probability(one.logits[named]),), named in judge.joint)
    return PairsThroughJudge(judge, identity, use)


def _order(judge: OnnxJudge, head: str, identity: str, spec: str) -> PairModel:
    """Log-odds that the second text follows the first."""
    named = _question(judge, head or ORDER, spec)
    use = Use(("order",), lambda one: (one.logits[named],), named in judge.joint, output_at=0)
    return PairsThroughJudge(judge, identity, use)


class JudgeTagger(PairsThroughJudge):
    """Supported or not, for each word of the first text beside the second; a word is the mean of its tokens."""

    def __init__(self, judge: OnnxJudge, head: str, identity: str, spec: str) -> None:
        super().__init__(judge, identity, Use((), lambda one: (), output_at=0))
        _no_head(head, WORDS, spec, "token-tagger")

    def score(self, pairs: Sequence[Pair], limits: Limits = WHOLE, joint: bool = False) -> list[PairScore]:
        found = self._judged(pairs, limits)
        return [self._words(pair[0], *one, limits) for pair, one in zip(pairs, found, strict=True)]

    @staticmethod
    def _words(text: str, one: PairScore, cut: tuple[int, int], seen: Pieces, limits: Limits) -> PairScore:
        spans, owner = words_of(text, seen, cut[0] > 0 and limits.keep_first == "start")
        inside = owner >= 0
        sums = np.bincount(owner[inside], one.support[inside], len(spans))
        supported = (sums / np.maximum(np.bincount(owner[inside], minlength=len(spans)), 1)).astype(np.float32)
        starts, ends = np.array(spans, np.int32).reshape(-1, 2).T
        return PairScore({}, cut, starts, ends, supported)


def _part(pieces: Pieces, size: int | None, end: str) -> Pieces:
    if size is None or len(pieces) <= size:
        return pieces
    return pieces[:size] if end == "start" else pieces[len(pieces) - size :]


def _masked(judge: OnnxJudge, head: str, identity: str, spec: str) -> Model:
    _no_head(head, "mlm", spec, "masked-lm")
    return JudgeMaskedLM(judge, identity)


def _yes_no(judge: OnnxJudge, head: str, identity: str, spec: str) -> Model:
    return JudgeYesNo(judge, identity, spec, _question(judge, head, spec) if head else "")


_ROLES: dict[str, Callable[[OnnxJudge, str, str, str], Model]] = {
    "pair-classifier": _classifier,
    "regressor": _regressor,
    "sentence-order": _order,
    "token-tagger": JudgeTagger,
    "masked-lm": _masked,
    "yes-no": _yes_no,
}


# Small heads that stand on a judge: linear layers over what its own heads read (IM2's five-point scales).
#
# A folder with model.toml and head.safetensors. model.toml: name, role = "pair-classifier", `on` (the judge's spec),
# `on_identity` (the judge it was trained on), `activation` between layers. Tensors: weight_0 (out, in), bias_0, …

ACTIVATIONS: Mapping[str, Callable[[NDArray[np.float32]], NDArray[np.float32]]] = {
    "none": lambda x: x,
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, np.float32(0)),
}

Matrix = NDArray[np.float32]
Layers = Sequence[tuple[Matrix, Matrix]]


class PooledHead(PairsThroughJudge):
    """The second text is judged beside the first, whose lines are turns, or one alone; read as replies are."""

    def __init__(self, judge: OnnxJudge, folder: Path, description: Description, identity: str) -> None:
        if description.on_identity and description.on_identity != judge.identity:
            raise ModelError(f"{folder} was trained on {description.on_identity}, and {judge.identity} is here")
        if description.activation not in ACTIVATIONS:
            raise ModelError(f"{folder}: activation must be one of {', '.join(ACTIVATIONS)}")
        self._activation = ACTIVATIONS[description.activation]
        self._layers = read(folder / description.file, judge.width)
        labels = tuple(str(number) for number in range(1, 1 + len(self._layers[-1][1])))
        super().__init__(
            judge, identity, Use(labels, lambda one: self._values(one.pooled), bool(judge.joint), by_line=True)
        )

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


# Other roles from the heads of a language model: the judge's own classes, over `CONTEXT\n\nTL;DR: text`.

ROLES = ("pair-classifier", "regressor", "token-tagger")
ASKED_SO = frozenset({"con", "rel", "cov", "cohd", "adq", ENTAILMENT, WORDS})
"""Heads that learnt in this form (docs/training.md); those about replies and records learnt in others."""
_FORM, _BLANK = "TL;DR:", " "


def adapt_language_model(model: OnnxCausalLM, role: str, head: str, identity: str, spec: str) -> Model:
    """The model in one of ROLES; `head` chooses among those it was taught."""
    able = [name for name in model.taught if name in ASKED_SO]
    wanted = head or (WORDS if role == "token-tagger" else "")
    if wanted and wanted not in able:
        raise ModelError(f"{spec} cannot answer {wanted!r} beside a text (its heads: {', '.join(able) or 'none'})")
    # ROLES ask a judge for no more than LanguageJudge has.
    return adapt(LanguageJudge(model), role, head, identity, spec)  # type: ignore[arg-type]


class LanguageJudge:
    """As much of an OnnxJudge as pairs of texts need."""

    joint: frozenset[str] = frozenset()
    aliases: Mapping[str, str] = {}

    def __init__(self, model: OnnxCausalLM) -> None:
        self._model = model
        self.max_tokens = model.max_tokens
        self.labels = tuple(name for name in model.taught if name in ASKED_SO - {ENTAILMENT, WORDS})
        self.longest_output = model.max_tokens // 4
        split = model.subwords.split
        self._alone, self._after = split(_FORM).ids, split(f"\n\n{_FORM}").ids
        self.separator = int(split(LINE_BREAK).ids[-1])

    def longest_context(self, output: int, joint: bool = False) -> int:
        return self._model.longest_context(output) - len(self._after)

    def split(self, text: str) -> Pieces:
        """Of contexts, where no place is asked for."""
        return self._model.subwords.split(text.strip())

    def split_output(self, text: str) -> Pieces:
        """With a blank before it, as the model has learnt to read it; places are those of the text."""
        found = self._model.subwords.split(_BLANK + text)
        starts, ends = (np.maximum(places - 1, 0) for places in (found.starts, found.ends))
        return Pieces(found.ids, starts, ends)

    def score_asked(self, asked: Sequence[Asked]) -> list[PairScore]:
        found: dict[Key, PairScore] = {}
        for one in sorted(asked, key=lambda one: one.context.tobytes()):
            if one.key not in found:
                found[one.key] = self._model.judge_after(self._context(one.context), one.output)
        return [found[one.key] for one in asked]

    def _context(self, context: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.concatenate([context, self._after]) if len(context) else self._alone
