"""CTC's five aspects, and informativeness for data-to-text made of the same parts (CTC equations 1 to 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Row
from quintet.core.score import EMPTY_OUTPUT, Score, Span
from quintet.metrics.ctc.alignment import Aggregate, Alignment
from quintet.metrics.ctc.embedding import align_vectors
from quintet.metrics.encoder_metric import EncoderMetric
from quintet.models.centre import token_mean

StopWords = Literal["keep", "drop", "drop-listed", "drop-unstripped"]
Pair = tuple[str, str]

UNBOUNDED = -float("inf")
_BETWEEN = "\n\n\n"


@dataclass(frozen=True)
class CtcMetric(EncoderMetric):
    """What every aspect shares: the aligner, what is left out, and how units become one number."""

    layer: int = 12
    """Validation sets prefer the last layer once the mean is taken away; the paper follows bert_score (9 for BERT)."""
    center: bool = True
    """Takes the model's mean sub-word vector away before cosines, which otherwise all lie near 1. The paper does not."""
    stopwords: StopWords = "keep"
    """drop: stop words and punctuation; drop-listed: stop words only, as released; drop-unstripped: the paper's run
    compared " the" with "the", so RoBERTa kept its stop words."""
    aggregate: Aggregate = "mean"

    paper: ClassVar[str] = "Deng, Tan et al. 2021"

    def _align(self, pairs: Sequence[Pair]) -> list[Alignment]:
        vectors = self.embed([text for pair in pairs for text in pair])
        mean = token_mean(self.model, self.layer) if self.center else None
        return [align_vectors(vectors[a], vectors[b], mean) for a, b in pairs]

    def _kept(self, alignment: Alignment) -> NDArray[np.bool_] | None:
        if self.stopwords == "keep":
            return None
        content = alignment.content(punctuation=self.stopwords != "drop")
        if self.stopwords != "drop-unstripped":
            return content
        # Only a unit at the very start carries no space before it and could match the list.
        spaced = np.array([i > 0 and not alignment.continues(i) for i in range(len(alignment.values))], bool)
        return content | spaced

    def _value(self, alignment: Alignment) -> float:
        return alignment.aggregate(self.aggregate, self._kept(alignment))

    def _score_empty(self, example: Example) -> Row:
        # The released package: a sum or mean over no words is 0.
        return {d.name: Score(0.0, flags=(EMPTY_OUTPUT,)) for d in self.dimensions}


def _cut(**counts: int) -> dict[str, int]:
    return {field: count for field, count in counts.items() if count}


@dataclass(frozen=True)
class Consistency(CtcMetric):
    """mean align(output -> source), equation 2."""

    name = "ctc-consistency"
    dimensions = (Dimension("consistency", "Is every word backed by the source?", ("source",), low=-1.0),)

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        found = self._align([(e.output, e.text("source")) for e in examples])
        return [
            {
                "consistency": Score(
                    self._value(a), a.word_spans("source", self._kept(a)), cut=_cut(output=a.cut_a, source=a.cut_b)
                )
            }
            for a in found
        ]


@dataclass(frozen=True)
class Relevance(CtcMetric):
    """mean align(output -> source) times the average over references of mean align(reference -> output), equation 3."""

    combine: Literal["product", "sum"] = "product"
    """sum: the ablation of the paper's Table 1."""

    name = "ctc-relevance"
    dimensions = (
        Dimension(
            "relevance", "Does it keep what matters, and only what the source says?", ("source", "references"), low=-1.0
        ),
    )

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        pairs = [(e.output, e.text("source")) for e in examples]
        pairs += [(reference, e.output) for e in examples for reference in e.references]
        found = self._align(pairs)
        backed, covered = found[: len(examples)], iter(found[len(examples) :])
        rows: list[Row] = []
        for example, forward in zip(examples, backed, strict=True):
            back = [next(covered) for _ in example.references]
            precision = self._value(forward)
            recall = sum(self._value(a) for a in back) / len(back)
            value = precision * recall if self.combine == "product" else (precision + recall) / 2
            score = Score(
                value,
                forward.word_spans("source", self._kept(forward)),
                {"output in source": precision, "references in output": recall},
                cut=_cut(output=forward.cut_a, source=forward.cut_b, references=sum(a.cut_a for a in back)),
            )
            rows.append({"relevance": score})
        return rows


@dataclass(frozen=True)
class Preservation(CtcMetric):
    """Harmonic mean of both directions between input and rewrite, equation 4."""

    harmonic: Literal["full", "paper"] = "full"
    """paper: PR/(P+R) as printed, half of the harmonic mean; same ranking."""
    baseline: float | None = None
    """Rescales to (F - b)/(1 - b), b being bert_score's baseline of the model and layer."""

    name = "ctc-preservation"
    dimensions = (
        Dimension("preservation", "Does the rewrite keep the content of the input?", ("source",), low=UNBOUNDED),
    )

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        pairs = [(e.output, e.text("source")) for e in examples] + [(e.text("source"), e.output) for e in examples]
        found = self._align(pairs)
        rows: list[Row] = []
        for forward, back in zip(found[: len(examples)], found[len(examples) :], strict=True):
            precision, recall = self._value(forward), self._value(back)
            value = 0.0 if precision + recall == 0.0 else 2 * precision * recall / (precision + recall)
            value = value / 2 if self.harmonic == "paper" else value
            if self.baseline is not None:
                value = (value - self.baseline) / (1.0 - self.baseline)
            parts = {"output in input": precision, "input in output": recall}
            cut = _cut(output=forward.cut_a, source=forward.cut_b)
            rows.append(
                {"preservation": Score(value, forward.word_spans("source", self._kept(forward)), parts, cut=cut)}
            )
        return rows


@dataclass(frozen=True)
class Informativeness(CtcMetric):
    """Average over references of mean align(reference -> output). Not in the paper: its recall direction alone."""

    name = "ctc-informativeness"
    dimensions = (Dimension("informativeness", "Does it say what the reference says?", ("references",), low=-1.0),)

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        found = iter(self._align([(reference, e.output) for e in examples for reference in e.references]))
        rows: list[Row] = []
        for example in examples:
            back = [next(found) for _ in example.references]
            value = sum(self._value(a) for a in back) / len(back)
            rows.append({"informativeness": Score(value, cut=_cut(references=sum(a.cut_a for a in back)))})
        return rows


@dataclass(frozen=True)
class Groundedness(CtcMetric):
    """sum align(output -> fact) over content words, equation 6."""

    stopwords: StopWords = "drop"
    aggregate: Aggregate = "sum"

    name = "ctc-groundedness"
    dimensions = (Dimension("groundedness", "Does the response use the fact?", ("context",), low=UNBOUNDED, high=None),)

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        found = self._align([(e.output, e.text("context").strip()) for e in examples])
        return [
            {
                "groundedness": Score(
                    self._value(a), a.word_spans("context", self._kept(a)), cut=_cut(output=a.cut_a, context=a.cut_b)
                )
            }
            for a in found
        ]


@dataclass(frozen=True)
class Engagingness(CtcMetric):
    """sum align(output -> fact and history) over content words, equation 5."""

    stopwords: StopWords = "drop"
    aggregate: Aggregate = "sum"
    order: Literal["fact-first", "history-first"] = "fact-first"
    """The released code puts the fact first; it matters only where a long history is cut."""

    name = "ctc-engagingness"
    dimensions = (
        Dimension(
            "engagingness",
            "Does the response say things that belong to the fact or the history?",
            ("history", "context"),
            low=UNBOUNDED,
            high=None,
        ),
    )

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        found = self._align([(e.output, self._grounds(e)) for e in examples])
        rows: list[Row] = []
        for example, alignment in zip(examples, found, strict=True):
            spans = [self._in_its_field(s, example) for s in alignment.word_spans("", self._kept(alignment))]
            cut = _cut(output=alignment.cut_a, history=alignment.cut_b)
            rows.append({"engagingness": Score(self._value(alignment), tuple(spans), cut=cut)})
        return rows

    def _fields(self) -> tuple[str, str]:
        return ("context", "history") if self.order == "fact-first" else ("history", "context")

    def _grounds(self, example: Example) -> str:
        return _BETWEEN.join(example.text(field).strip() for field in self._fields())

    def _in_its_field(self, span: Span, example: Example) -> Span:
        """Support was found in the joined text; evidence names the field and the place in it."""
        if span.other is None:
            return span
        _, start, end = span.other
        first, second = self._fields()
        begin_of_second = len(example.text(first).strip()) + len(_BETWEEN)
        field, offset = (first, 0) if start < begin_of_second else (second, -begin_of_second)
        text = example.text(field)
        offset += len(text) - len(text.lstrip())
        return replace(span, other=(field, start + offset, end + offset))
