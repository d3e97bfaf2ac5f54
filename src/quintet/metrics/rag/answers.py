"""Does a text answer the question? Asked of the answer (answer relevance) and of each context (context relevance)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.flags import ABSTAINED
from quintet.core.metric import Metric, Row
from quintet.core.parameters import build
from quintet.core.registry import metrics as registry
from quintet.core.score import Score, Span, no_score
from quintet.metrics.rag import features
from quintet.metrics.rag.features import Embedded, Logistic
from quintet.metrics.rag.support import EmbedderMetric
from quintet.models.open import identity
from quintet.text.abstention import abstains

ANSWERS = Logistic(-1.1, (0.0, 0.0, 0.0, 0.57, 0.24, -1.5, 0.87))
"""On `features.ANSWER`, and last how much likelier the question makes the answer (log-odds by LIKELIER, bounded by
BOUNDS). Fitted to the project's own written answers, good, evasive and beside the point; words and likeness are left
out, since an answer need not repeat its question. The weight of an echo is set by hand."""
FAST = Logistic(-0.65, (0.0, 0.0, 0.39, 0.6, 0.24, -1.5))
"""The same without the language model."""
LIKELIER, UNIT, BOUNDS = "evaluator-gain-history", 5.0, (-10.0, 25.0)
HOLDS = Logistic(-9.39, (3.26, 4.35, 3.03, 0.57, 0.71, -0.37))
"""The same for a sentence of a context; fitted to TREC-QA's judgements (train and dev)."""


def answer_features(question: str, text: str, vectors: Mapping[str, Embedded]) -> tuple[float, ...]:
    asked, said = vectors[question], vectors[text]
    return features.answer(question, text, features.nearest(asked, said), float(asked.mean @ said.mean))


@dataclass(frozen=True)
class AnswerRelevance(EmbedderMetric):
    """The best of its sentences, or the answer as a whole. One that declines to answer is no answer: 0, and says so."""

    model_lm: str = "bundled:judge-lm"
    fast: bool = False
    """Without the language model."""

    name = "rag-answer-relevance"
    dimensions = (Dimension("answer_relevance", "Does it answer the question that was asked?", ("question",)),)
    model_roles: ClassVar[Mapping[str, str]] = {"model": "embedder", "model_lm": "causal-lm"}

    def _likelier(self) -> Metric:
        return build(registry, LIKELIER, model=self.model_lm)

    def prepare(self) -> None:
        super().prepare()
        if not self.fast:
            self._likelier().prepare()

    def model_identities(self) -> Mapping[str, str]:
        return {**super().model_identities(), **({} if self.fast else {"model_lm": identity(self.model_lm)})}

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        able = [e for e in examples if (e.question or "").strip() and not abstains(e.output)]
        parts = {e: _parts(e.output) for e in able}
        vectors = self.embedded(text for e in able for text in (e.question or "", *parts[e]))
        gains = self._gains([(e.question or "", part) for e in able for part in parts[e]])
        return [
            {"answer_relevance": self._one(example, parts.get(example, ()), vectors, gains)} for example in examples
        ]

    def _gains(self, pairs: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], float]:
        if self.fast or not pairs:
            return {}
        wanted = list(dict.fromkeys(pairs))
        rows = self._likelier().score([Example(part, history=(question,)) for question, part in wanted])
        gains = (row["sum"].value for row in rows)
        return {
            pair: 0.0 if math.isnan(gain) else min(max(gain, BOUNDS[0]), BOUNDS[1]) / UNIT
            for pair, gain in zip(wanted, gains, strict=True)
        }

    def _one(
        self,
        example: Example,
        parts: Sequence[str],
        vectors: Mapping[str, Embedded],
        gains: Mapping[tuple[str, str], float],
    ) -> Score:
        if not (example.question or "").strip():
            return no_score("empty question")
        if not parts:
            return Score(0.0, flags=(ABSTAINED,))
        question = example.question or ""
        if self.fast:
            return Score(max(FAST(answer_features(question, part, vectors)) for part in parts))
        return Score(max(ANSWERS((*answer_features(question, part, vectors), gains[question, part])) for part in parts))


def _parts(text: str) -> list[str]:
    found = [piece.text for piece in features.pieces(text)]
    return list(dict.fromkeys([text, *(found if len(found) > 1 else ())]))


@dataclass(frozen=True)
class ContextRelevance(EmbedderMetric):
    """The mean over the contexts; of each context its best sentence."""

    name = "rag-context-relevance"
    dimensions = (
        Dimension("context_relevance", "Do the contexts hold an answer to the question?", ("question", "contexts")),
    )

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        asked = [example.question or "" for example in examples]
        parts = [[[p.text for p in features.pieces(c)] for c in example.contexts or ()] for example in examples]
        vectors = self.embedded([*asked, *(text for own in parts for context in own for text in context)])
        return [
            {"context_relevance": self._one(example, question, own, vectors)}
            for example, question, own in zip(examples, asked, parts, strict=True)
        ]

    def _one(
        self, example: Example, question: str, parts: Sequence[Sequence[str]], vectors: Mapping[str, Embedded]
    ) -> Score:
        if not question.strip():
            return no_score("empty question")
        if not parts:
            return no_score("empty contexts")
        values = [max((HOLDS(answer_features(question, p, vectors)) for p in own), default=0.0) for own in parts]
        return Score(sum(values) / len(values), tuple(context_spans(example, values)), named(values))


def named(values: Sequence[float]) -> dict[str, float]:
    return {f"context {number}": round(value, 4) for number, value in enumerate(values, 1)}


def context_spans(example: Example, values: Sequence[float]) -> Iterator[Span]:
    """Each context with its value, at its place in `example.text("contexts")`."""
    start = 0
    for context, value in zip(example.contexts or (), values, strict=True):
        note = "needed" if value >= 0.5 else "not needed"
        yield Span(start, start + len(context), round(value, 4), "sentence", "contexts", note)
        start += len(context) + 1
