"""What every aspect of CTC shares: the aligner (E, D or R), what is left out, and how units become one number."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Row
from quintet.core.score import EMPTY_OUTPUT, Score
from quintet.metrics.ctc import regression, tagging
from quintet.metrics.ctc.alignment import NO_GROUNDS, Aggregate, Alignment
from quintet.metrics.ctc.embedding import align_vectors
from quintet.metrics.ctc.relations import DEFAULT_MODELS, TRAINED_ON, Relation
from quintet.metrics.encoder_metric import BERT_SCORE_LAYERS, BY_NAME, EncoderMetric
from quintet.models.centre import token_mean
from quintet.models.open import identity, open_model

Aligner = Literal["E", "D", "R"]
Mode = Literal["quintet", "package", "paper"]
StopWords = Literal["keep", "drop", "drop-listed", "drop-unstripped"]
Pair = tuple[str, str]

UNBOUNDED = -float("inf")
_ROLES: Mapping[Aligner, str] = {"E": "embedder", "D": "token-tagger", "R": "regressor"}
_UNUSED: Mapping[Aligner, frozenset[str]] = {
    "E": frozenset(),
    "D": frozenset({"layer", "center", "unit"}),
    "R": frozenset({"layer", "center", "unit", "stopwords", "aggregate"}),
}
"""Parameters that an aligner does not look at and that its signature therefore leaves out."""


@dataclass(frozen=True)
class CtcMetric(EncoderMetric):
    layer: int = BY_NAME
    """-1: bert_score's choice by the name of the model, as in the paper (9 for roberta-large-mnli, though); for other
    models 12, as validation sets prefer the last layer once the mean is taken away, and 9 in modes package, paper."""
    center: bool = True
    """Takes the model's mean sub-word vector away before cosines, which else all lie near 1. The paper does not."""
    stopwords: StopWords = "keep"
    """drop: stop words and punctuation; drop-listed: stop words only, piece by piece, as released; drop-unstripped: the
    paper's run compared " the" with "the", so RoBERTa kept its stop words but for pieces without a blank."""
    aggregate: Aggregate = "mean"
    unit: Literal["word", "subword"] = "word"
    """What aligner E counts. The paper counts sub-words, so that a rare word of five pieces weighs as much as five."""
    aligner: Aligner = "E"
    """E: best cosine in the other text; D: a tagger of words; R: one number per pair, past `aggregate`, `stopwords`."""
    mode: Mode = "quintet"
    """package, paper: as the authors' package or the paper's scripts did; both set center, unit, long, stopwords."""

    paper: ClassVar[str] = "Deng, Tan et al. 2021"
    aspects: ClassVar[tuple[Dimension, ...]]
    relations: ClassVar[tuple[Relation, ...]]
    layers_by_name: ClassVar[Mapping[str, int]] = {**BERT_SCORE_LAYERS, "roberta-large-mnli": 9}

    def __post_init__(self) -> None:
        # Settled once, so that parameters and signature show what is really done.
        settled: dict[str, Any] = {}
        if self.aligner != "E" and self.model == DEFAULT_MODELS["E"]:
            settled["model"] = DEFAULT_MODELS[self.aligner]
        if self.mode != "quintet":
            settled.update(center=False, long="cut", unit="subword")
            if self.stopwords == "drop":
                settled["stopwords"] = "drop-unstripped" if self.mode == "paper" else "drop-listed"
        for name, value in settled.items():
            object.__setattr__(self, name, value)
        super().__post_init__()

    @property
    def usual_layer(self) -> int:  # type: ignore[override]
        return 12 if self.mode == "quintet" else 9

    @property
    def dimensions(self) -> tuple[Dimension, ...]:  # type: ignore[override]
        if self.aligner != "R":
            return self.aspects
        # A regressor promises no range.
        return tuple(dataclasses.replace(d, low=UNBOUNDED, high=None) for d in self.aspects)

    @property
    def model_role(self) -> str:
        return _ROLES[self.aligner]

    @property
    def parameters(self) -> dict[str, Any]:
        return {name: value for name, value in super().parameters.items() if name not in _UNUSED[self.aligner]}

    def model_identities(self) -> Mapping[str, str]:
        if self.aligner == "E":
            return super().model_identities()
        return {"model": "+".join(dict.fromkeys(identity(self._spec(relation)) for relation in self.relations))}

    def prepare(self) -> None:
        if self.aligner == "E":
            super().prepare()
            return
        for relation in self.relations:
            open_model(self._spec(relation), self.model_role)

    def _spec(self, relation: Relation) -> str:
        return self.model.replace("{relation}", relation)

    def _align(self, pairs: Sequence[Pair], relation: Relation) -> list[Alignment]:
        """align(a -> b) for each pair (a, b)."""
        if self.aligner == "D":
            model = open_model(self._spec(relation), self.model_role)
            return tagging.align_tags(model, pairs, self._word_limits(), self.mode != "quintet")
        if self.aligner == "R":
            model = open_model(self._spec(relation), self.model_role)
            limits = None if self.long == "window" else regression.PACKAGE
            # A head of the bundled evaluator says how likely, not how many words.
            trained: Aggregate = "mean" if self.model == DEFAULT_MODELS["R"] else TRAINED_ON[relation]
            return regression.align_values(model, pairs, limits, trained, self._a_first(relation))
        vectors = self.embed([text for pair in pairs for text in pair])
        mean = token_mean(self.model, self.layer) if self.center else None
        found = [align_vectors(vectors[a], vectors[b], mean) for a, b in pairs]
        return [alignment.by_word() for alignment in found] if self.unit == "word" else found

    def _word_limits(self) -> tagging.Limits | None:
        if self.long == "window":
            return None
        return tagging.PAPER if self.mode == "paper" else tagging.PACKAGE

    def _a_first(self, relation: Relation) -> bool:
        """The regressor for references saw the scored text in the slot of the context; the package forgets to swap."""
        return relation == "summ_to_ref" and self.mode != "package"

    def _kept(self, alignment: Alignment) -> NDArray[np.bool_] | None:
        if self.stopwords == "keep":
            return None
        if self.stopwords == "drop":
            return alignment.content()
        return ~alignment.listed(stripped=self.stopwords == "drop-listed")

    def _value(self, alignment: Alignment) -> float:
        return alignment.aggregate(self.aggregate, self._kept(alignment))

    def _score_empty(self, example: Example) -> Row:
        # The released package: a sum or mean over no words is 0.
        return {d.name: Score(0.0, flags=(EMPTY_OUTPUT,)) for d in self.dimensions}


def cut_of(**counts: int) -> dict[str, int]:
    return {field: count for field, count in counts.items() if count}


def flags_of(*alignments: Alignment) -> tuple[str, ...]:
    return tuple(dict.fromkeys(flag for alignment in alignments for flag in alignment.flags))


__all__ = ["NO_GROUNDS", "UNBOUNDED", "Aligner", "CtcMetric", "Mode", "Pair", "StopWords", "cut_of", "flags_of"]
