"""How likely a small language model finds the output, given what it was made from, and how much the grounds help.

    likelihood = mean log p(word | grounds, words before)        gain = log p(output | grounds) - log p(output)
    chance = exp(likelihood): the unlikely differ less by it, the likely more

The grounds stand in the form that the model was tuned on (a document before `TL;DR:`, a record before `=>`, turns as
list items). Grounds too long for the model are read in overlapping windows, and the best one counts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Row
from quintet.core.score import Score, Span
from quintet.metrics.evaluator.reading import Output, fact_of, memory, read_document, read_output, turns_of
from quintet.metrics.evaluator.signal import EvaluatorSignal
from quintet.metrics.long_texts import in_slices
from quintet.metrics.role_metric import cut_of
from quintet.models.open import identity, open_model, soon
from quintet.models.roles import TokenLM, TokenScores
from quintet.text.content_words import plain_words
from quintet.text.tokens import whitespace_words

Given = Literal["document", "record", "history", "dialogue", "nothing"]
TURNS = 12
UNLIKELY = -9.0
"""A word with a piece less likely than e to this is pointed at."""
FLATTENED = 5.0
"""Nats at which the scale of `log` begins to flatten: sign × ln(1 + |gain| / 5)."""
LEAST = -30.0
"""Log-probabilities are shown no lower than this."""
_NEEDS: dict[str, tuple[str, ...]] = {
    "document": ("source",), "record": ("source",), "history": ("history",), "dialogue": ("history",), "nothing": (),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Grounds:
    """A prompt: grounds that may be cut into windows, and what stands around them."""

    before: str = ""
    text: str = ""
    after: str = ""

    def prompt(self, part: str) -> str:
        return f"{self.before}{part}{self.after if part else self.after.lstrip()}"

    def around(self, other: Grounds) -> bool:
        return (self.before, self.after) == (other.before, other.after)


def grounds_of(example: Example, given: Given) -> Grounds:
    if given == "document":
        return after_document(" ".join(read_document(example.source or "")))
    if given == "record":
        return Grounds(text=(example.source or "").strip(), after="\n=>")
    if given == "nothing":
        return Grounds(after="TL;DR:")
    fact = fact_of(example) if given == "dialogue" else ""
    turns = "".join(f"- {turn}\n" for turn in turns_of(example, TURNS))
    return Grounds(f"{fact}\n\n" if fact else "", "", f"{turns}-")


def after_document(text: str) -> Grounds:
    return Grounds(text=text, after="\n\nTL;DR:")


def without(given: Given) -> Grounds:
    """The same form with nothing in it."""
    return Grounds(after={"record": "=>", "history": "-", "dialogue": "-"}.get(given, "TL;DR:"))


@dataclass(frozen=True)
class LanguageSignal(EvaluatorSignal):
    model: str = "bundled:judge-lm"

    model_role: ClassVar[str] = "causal-lm"

    def prepare(self) -> None:
        open_model(self.model, self.model_role)

    def model_identities(self) -> Mapping[str, str]:
        return {"model": identity(self.model)}

    def foresee(self, examples: Sequence[Example]) -> None:
        """The model is opened beside others."""
        if self._asks(examples):
            soon(open_model(self.model, self.model_role))

    def read(self, jobs: Sequence[tuple[Grounds, str]]) -> list[list[TokenScores]]:
        """The sub-words of each output under the best window of its grounds; equal jobs are read once per chunk."""
        model: TokenLM = open_model(self.model, self.model_role)
        kept: dict[tuple[Grounds, str], list[TokenScores]] = memory.once(("likelihood", model.identity), dict)
        fresh = [job for job in dict.fromkeys(jobs) if job not in kept]
        kept.update(zip(fresh, _read(model, fresh), strict=True))
        return [kept[job] for job in jobs]


def _read(model: TokenLM, jobs: Sequence[tuple[Grounds, str]]) -> list[list[TokenScores]]:
    found: dict[tuple[Grounds, str], list[TokenScores]] = {}
    for form in dict.fromkeys(Grounds(grounds.before, "", grounds.after) for grounds, _ in jobs):
        # Outputs of one document stand together, so that the model reads it once.
        own = sorted((job for job in jobs if form.around(job[0])), key=lambda job: job[0].text)
        texts = [(grounds.text, output) for grounds, output in own]
        found.update(zip(own, _in_windows(model, form, texts), strict=True))
    return [found[job] for job in jobs]


def _in_windows(model: TokenLM, form: Grounds, texts: Sequence[tuple[str, ...]]) -> list[list[TokenScores]]:
    def run(parts: Sequence[tuple[str, ...]]) -> list[TokenScores]:
        return model.log_probs([(form.prompt(grounds), f" {output}") for grounds, output in parts])

    short = len(form.before) + len(form.after) < model.max_tokens
    if not short:
        # A dialogue cannot be cut into windows: its start gives way, and that is reported.
        return [[scores] for scores in run(texts)]
    sliced = in_slices(texts, run, lambda scores: scores.cut, model.max_tokens, (True, False))
    return [max((list(results) for _, results in one.by_first()), key=mean_log_prob) for one in sliced]


def mean_log_prob(parts: Sequence[TokenScores]) -> float:
    count = sum(map(len, parts))
    return total_log_prob(parts) / count if count else LEAST


def total_log_prob(parts: Sequence[TokenScores]) -> float:
    return float(sum(part.log_probs.astype(np.float64).sum() for part in parts))


@dataclass(frozen=True)
class GivenSignal(LanguageSignal):
    given: Given = "document"

    @property
    def reads(self) -> tuple[str, ...]:
        return ("context",) if self.given == "dialogue" else ()


@dataclass(frozen=True)
class Likelihood(GivenSignal):
    version: ClassVar[int] = 4
    """Of kept scores; 3 has the chance, 4 leaves out marks of lists, headings and emphasis."""

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"evaluator-likelihood-{self.given}"

    @property
    def dimensions(self) -> tuple[Dimension, ...]:  # type: ignore[override]
        needs = _NEEDS.get(self.given, ())
        return (
            Dimension("likelihood", _ASKS["likelihood"], needs, LEAST, 0.0),
            Dimension("chance", _ASKS["chance"], needs, 0.0, 1.0),
        )

    def _signals(self, examples: Sequence[Example]) -> list[Row]:
        outputs = [read_output(example.output) for example in examples]
        jobs = [(grounds_of(e, self.given), output.text) for e, output in zip(examples, outputs, strict=True)]
        rows: list[Row] = []
        for output, parts in zip(outputs, self.read(jobs), strict=True):
            mean = _bounded(mean_log_prob(parts))
            found = Score(mean, _unlikely(output, parts), cut=self._cut(parts))
            rows.append({"likelihood": found, "chance": replace(found, value=math.exp(mean))})
        return rows

    def _cut(self, parts: Sequence[TokenScores]) -> dict[str, int]:
        field = (_NEEDS.get(self.given) or ("output",))[0]
        return cut_of(**{field: max(part.cut for part in parts)})


@dataclass(frozen=True)
class Gain(GivenSignal):
    """How much likelier the grounds make the output (pointwise mutual information), per sub-word and in all."""

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"evaluator-gain-{self.given}"

    @property
    def dimensions(self) -> tuple[Dimension, ...]:  # type: ignore[override]
        needs = _NEEDS.get(self.given, ())
        return tuple(Dimension(name, _ASKS[name], needs, *_BOUNDS[name]) for name in _BOUNDS)

    def _signals(self, examples: Sequence[Example]) -> list[Row]:
        texts = [read_output(example.output).text for example in examples]
        given = self.read([(grounds_of(e, self.given), text) for e, text in zip(examples, texts, strict=True)])
        alone = self.read([(without(self.given), text) for text in texts])
        rows: list[Row] = []
        for with_grounds, parts in zip(given, alone, strict=True):
            gain = total_log_prob(with_grounds) - total_log_prob(parts)
            mean = gain / max(1, sum(map(len, parts)))
            log = math.copysign(math.log1p(abs(gain) / FLATTENED), gain)
            rows.append({"mean": _within(mean, "mean"), "sum": _within(gain, "sum"), "log": _within(log, "log")})
        return rows


@dataclass(frozen=True)
class FactGain(LanguageSignal):
    """How much likelier the fact makes the output, beyond the history."""

    name = "evaluator-gain-fact"
    dimensions = (Dimension("sum", "Does the fact make the output likelier?", ("context",), -1000.0, 1000.0),)

    @property
    def reads(self) -> tuple[str, ...]:
        return ("history",)

    def _signals(self, examples: Sequence[Example]) -> list[Row]:
        texts = [read_output(example.output).text for example in examples]
        pairs = list(zip(examples, texts, strict=True))
        both = self.read([(grounds_of(e, "dialogue"), text) for e, text in pairs])
        history = self.read([(grounds_of(e, "history"), text) for e, text in pairs])
        gains = [total_log_prob(a) - total_log_prob(b) for a, b in zip(both, history, strict=True)]
        return [{"sum": _within(gain, "sum")} for gain in gains]


_ASKS = {
    "likelihood": "How likely are the words of the output, one after the other?",
    "chance": "How likely is each of its sub-words, as a chance (geometric mean)?",
    "mean": "How much likelier do the grounds make each word?",
    "sum": "How much likelier do the grounds make the output?",
    "log": "How much likelier do they make it, on a scale that flattens?",
}
_BOUNDS = {"mean": (-30.0, 30.0), "sum": (-1000.0, 1000.0), "log": (-10.0, 10.0)}


def _within(value: float, name: str) -> Score:
    low, high = _BOUNDS[name]
    return Score(min(max(value, low), high))


def _bounded(value: float) -> float:
    return min(max(value, LEAST), 0.0)


def _unlikely(output: Output, parts: Sequence[TokenScores]) -> tuple[Span, ...]:
    """Words that the model did not expect at all, with their probability."""
    if len(parts) > 1:
        return ()
    (scores,) = parts
    spans = []
    for word in whitespace_words(output.text):
        # The text that the model read has a blank before it.
        inside = (scores.ends > word.start + 1) & (scores.starts <= word.end)
        low = scores.log_probs[inside]
        if len(low) and float(low.min()) < UNLIKELY and plain_words(word.text):
            spans.append(output.span(word.start, word.end, float(np.exp(low.min())), "word", "unlikely"))
    return tuple(spans)
