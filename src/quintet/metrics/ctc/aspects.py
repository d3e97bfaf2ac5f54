"""CTC's aspects of compression and transduction, and informativeness for data-to-text made of the same parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Row
from quintet.core.score import Score, Span
from quintet.errors import InputError
from quintet.metrics.ctc.aligners import UNBOUNDED, CtcMetric, cut_of, flags_of
from quintet.metrics.ctc.alignment import BERT_SCORE_BASELINES, Alignment, Relation
from quintet.models.open import split

References = Literal["all", "first"]


@dataclass(frozen=True)
class Consistency(CtcMetric):
    """mean align(output -> source), equation 2."""

    name = "ctc-consistency"
    relations = ("doc_to_summ",)
    aspects = (Dimension("consistency", "Is every word backed by the source?", ("source",), low=-1.0),)

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        found = self._align([(e.output, e.text("source")) for e in examples], "doc_to_summ")
        return [
            {
                "consistency": Score(
                    self._value(a),
                    a.word_spans("source", self._kept(a)),
                    flags=flags_of(a),
                    cut=cut_of(output=a.cut_a, source=a.cut_b),
                )
            }
            for a in found
        ]


@dataclass(frozen=True)
class Relevance(CtcMetric):
    """mean align(output -> source) times the average over references of mean align(reference -> output), equation 3."""

    combine: Literal["product", "sum", "output-in-source", "references-in-output"] = "product"
    """The others are the columns of the paper's Table 1; sum is halved to stay below 1."""
    references: References = "all"
    """first: the paper's table with one reference."""
    reference_model: str | None = None
    """Another model for align(reference -> output): the paper's XSUM rows took CNN/DM's. Aligners D and R."""

    name = "ctc-relevance"
    relations = ("doc_to_summ", "summ_to_ref")
    aspects = (
        Dimension(
            "relevance", "Does it keep what matters, and only what the source says?", ("source", "references"), low=-1.0
        ),
    )

    def _spec(self, relation: Relation) -> str:
        if self.reference_model is None or relation == "doc_to_summ":
            return super()._spec(relation)
        return self.reference_model.replace("{relation}", relation)

    def prepare(self) -> None:
        if self.aligner == "E" and self.reference_model is not None:
            raise InputError("reference_model is for aligners D and R", self.name, "aligner E takes one encoder")
        super().prepare()

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        compared = [chosen(e, self.references) for e in examples]
        backed = self._align([(e.output, e.text("source")) for e in examples], "doc_to_summ")
        pairs = [(r, e.output) for e, references in zip(examples, compared, strict=True) for r in references]
        covered = iter(self._align(pairs, "summ_to_ref"))
        rows: list[Row] = []
        for references, forward in zip(compared, backed, strict=True):
            back = [next(covered) for _ in references]
            precision = self._value(forward)
            recall = sum(self._value(a) for a in back) / len(back)
            score = Score(
                self._combined(precision, recall),
                forward.word_spans("source", self._kept(forward)),
                {"output in source": precision, "references in output": recall},
                flags_of(forward, *back),
                cut_of(output=forward.cut_a, source=forward.cut_b, references=sum(a.cut_a for a in back)),
            )
            rows.append({"relevance": score})
        return rows

    def _combined(self, precision: float, recall: float) -> float:
        return {
            "product": precision * recall,
            "sum": (precision + recall) / 2,
            "output-in-source": precision,
            "references-in-output": recall,
        }[self.combine]


@dataclass(frozen=True)
class Preservation(CtcMetric):
    """Harmonic mean of both directions between input and rewrite, equation 4."""

    harmonic: Literal["full", "paper"] = "full"
    """paper: PR/(P+R) as printed, half of the harmonic mean; same ranking."""
    direction: Literal["both", "output-in-input", "input-in-output"] = "both"
    """The others are the columns of the paper's Table 2."""
    rescale: bool = False
    """(F - b)/(1 - b) with bert_score's baseline of the model and layer, as the package offers for aligner E."""
    baseline: float | None = None
    """A baseline b of one's own, for a model that bert_score has none for."""

    name = "ctc-preservation"
    relations = ("sent_to_sent",)
    aspects = (
        Dimension("preservation", "Does the rewrite keep the content of the input?", ("source",), low=UNBOUNDED),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mode == "paper":
            object.__setattr__(self, "harmonic", "paper")

    def prepare(self) -> None:
        self._baseline()
        super().prepare()

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        pairs = [(e.output, e.text("source")) for e in examples] + [(e.text("source"), e.output) for e in examples]
        found = self._align(pairs, "sent_to_sent")
        rows: list[Row] = []
        for forward, back in zip(found[: len(examples)], found[len(examples) :], strict=True):
            precision, recall = self._value(forward), self._value(back)
            spans: tuple[Span, ...] = forward.word_spans("source", self._kept(forward))
            spans += back.word_spans("output", self._kept(back), field="source")
            score = Score(
                self._rescaled(self._combined(precision, recall)),
                spans,
                {"output in input": precision, "input in output": recall},
                flags_of(forward),
                cut_of(output=forward.cut_a, source=max(forward.cut_b, back.cut_a)),
            )
            rows.append({"preservation": score})
        return rows

    def _combined(self, precision: float, recall: float) -> float:
        if self.direction != "both":
            return precision if self.direction == "output-in-input" else recall
        both = 0.0 if precision + recall == 0.0 else precision * recall / (precision + recall)
        return both if self.harmonic == "paper" else 2 * both

    def _rescaled(self, value: float) -> float:
        baseline = self._baseline()
        return value if baseline is None else (value - baseline) / (1.0 - baseline)

    def _baseline(self) -> float | None:
        if self.baseline is not None or not self.rescale:
            return self.baseline
        model = split(self.model)[1].partition("@")[0].rstrip("/").rpartition("/")[2]
        if self.aligner != "E" or (model, self.layer) not in BERT_SCORE_BASELINES:
            known = ", ".join(f"{name} layer {layer}" for name, layer in BERT_SCORE_BASELINES)
            raise InputError(f"no baseline for {model} layer {self.layer}", self.name, f"known: {known}; or baseline=B")
        return BERT_SCORE_BASELINES[model, self.layer]


@dataclass(frozen=True)
class Informativeness(CtcMetric):
    """Average over references of mean align(reference -> output). Not in the paper: its recall direction alone."""

    references: References = "all"

    name = "ctc-informativeness"
    relations = ("summ_to_ref",)
    aspects = (Dimension("informativeness", "Does it say what the reference says?", ("references",), low=-1.0),)

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        compared = [chosen(e, self.references) for e in examples]
        pairs = [(r, e.output) for e, references in zip(examples, compared, strict=True) for r in references]
        found = iter(self._align(pairs, "summ_to_ref"))
        rows: list[Row] = []
        for references in compared:
            back = [next(found) for _ in references]
            value = sum(self._value(a) for a in back) / len(back)
            cut = cut_of(references=sum(a.cut_a for a in back))
            rows.append({"informativeness": Score(value, self._reference_spans(back), flags=flags_of(*back), cut=cut)})
        return rows

    def _reference_spans(self, back: Sequence[Alignment]) -> tuple[Span, ...]:
        """Places in the references as one text, joined by line breaks."""
        spans: tuple[Span, ...] = ()
        offset = 0
        for alignment in back:
            spans += alignment.word_spans("output", self._kept(alignment), "references", offset)
            offset += len(alignment.text) + 1
        return spans


def chosen(example: Example, references: References) -> tuple[str, ...]:
    return example.references if references == "all" else example.references[:1]
