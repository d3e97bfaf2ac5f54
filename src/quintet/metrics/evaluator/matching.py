"""Embedding matching on the plain encoder: each piece of one text with its nearest in the other (BERTScore, CTC-E)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Row
from quintet.core.score import Score
from quintet.metrics.evaluator.alignment import Aligned, backs_of, supports
from quintet.metrics.evaluator.reading import fact_of, read_document, read_output, read_plain, references_of, turns_of
from quintet.metrics.evaluator.signal import EvaluatorSignal
from quintet.models.open import identity, open_model
from quintet.models.roles import TokenVectors
from quintet.text.content_words import STOP

_MARKS = re.compile(r"\W+")
_BLOCK = 4096
"""Columns of the cosine matrix held at once."""
_NEEDS = {"document": "source", "input": "source", "references": "references", "fact": "context", "turn": "history"}
_QUESTIONS = {
    "precision": "Is each content word of the output found there?",
    "recall": "Is each content word found in the output?",
    "f-score": "Do the words match both ways?",
    "cosine": "Do the texts mean alike?",
}


@dataclass(frozen=True)
class Matching(EvaluatorSignal):
    beside: Literal["document", "input", "references", "fact", "turn"] = "document"
    layer: int = 12
    model: str = "bundled:gte-small"

    model_role: ClassVar[str] = "embedder"

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"evaluator-matching-{self.beside}"

    @property
    def dimensions(self) -> tuple[Dimension, ...]:  # type: ignore[override]
        needs = (_NEEDS.get(self.beside, "source"),)
        return tuple(Dimension(name, question, needs, -1.0, 1.0) for name, question in _QUESTIONS.items())

    def prepare(self) -> None:
        open_model(self.model).announce(self.layer)

    def model_identities(self) -> Mapping[str, str]:
        return {"model": identity(self.model)}

    def _signals(self, examples: Sequence[Example]) -> list[Row]:
        texts = [(read_output(example.output).text, self._others(example)) for example in examples]
        distinct = list(dict.fromkeys(text for output, others in texts for text in (output, *others)))
        vectors = open_model(self.model).embed(distinct, self.layer)
        sides = {text: _Side(own) for text, own in zip(distinct, vectors, strict=True)}
        return [
            self._row(example, sides[output], [sides[other] for other in others])
            for example, (output, others) in zip(examples, texts, strict=True)
        ]

    def _others(self, example: Example) -> tuple[str, ...]:
        if self.beside == "references":
            return references_of(example)
        if self.beside == "turn":
            return turns_of(example, 1)
        if self.beside == "fact":
            return (fact_of(example),)
        source = example.source or ""
        return (" ".join(read_document(source)) if self.beside == "document" else read_plain(source),)

    def _row(self, example: Example, output: _Side, others: Sequence[_Side]) -> Row:
        found = [nearest(output, other) for other in others]
        values = [matched(output, other, near) for other, near in zip(others, found, strict=True)]
        means = np.clip(np.mean(values, axis=0), -1.0, 1.0).tolist()
        field, backs = backs_of(example, self.beside)
        aligned = [
            Aligned(other.inner, near.where, near.cosine, field, back)
            for other, near, back in zip(others, found, backs, strict=True)
            if len(near.forth) and len(near.back)
        ]
        spans = supports(read_output(example.output), output.inner, output.content, aligned) if aligned else ()
        return {d.name: Score(float(value), spans) for d, value in zip(self.dimensions, means, strict=True)}


@dataclass(frozen=True, eq=False)
class _Side:
    """A text; what is told of its pieces one by one is told once for all texts that it is matched with."""

    whole: TokenVectors

    @cached_property
    def inner(self) -> TokenVectors:
        return self.whole.inner

    @cached_property
    def content(self) -> NDArray[np.bool_]:
        return content_pieces(self.inner)

    @cached_property
    def spoken(self) -> NDArray[np.bool_]:
        """Pieces that are no marks; all of them where there is nothing else."""
        found = np.array([any(map(str.isalnum, self.inner.token(i))) for i in range(len(self.inner))])
        return found if found.any() else ~found


@dataclass(frozen=True, slots=True, eq=False)
class Near:
    forth: NDArray[np.float32]
    """The best cosine of each piece of the output."""
    back: NDArray[np.float32]
    """That of each piece of the other text."""
    where: NDArray[np.intp]
    """For people: the nearest word of the other text, a content word where the piece is of one; never a mark."""
    cosine: NDArray[np.float32]


def nearest(output: _Side, other: _Side) -> Near:
    a, b = output.inner, other.inner
    if not len(a) or not len(b):
        nothing = np.zeros(0, np.float32)
        return Near(nothing, nothing, np.zeros(0, np.intp), nothing)
    allowed = (other.spoken, other.content if other.content.any() else other.spoken)
    return _nearest(_unit(a.vectors), _unit(b.vectors), allowed, output.content)


def matched(output: _Side, other: _Side, near: Near) -> tuple[float, float, float, float]:
    """Precision and recall over content pieces, F-score over all, cosine of the mean vectors (special tokens too)."""
    a, b = output.inner, other.inner
    cosine = float(_unit(output.whole.vectors.mean(axis=0)) @ _unit(other.whole.vectors.mean(axis=0)))
    if not len(a) or not len(b):
        return 0.0, 0.0, 0.0, cosine
    forth, back = near.forth, near.back
    precision, recall = float(forth.mean()), float(back.mean())
    total = precision + recall
    f_score = 2.0 * precision * recall / total if total > 0.0 else 0.0
    return _over_content(forth, output.content), _over_content(back, other.content), f_score, cosine


def _nearest(
    a: NDArray[np.float32],
    b: NDArray[np.float32],
    allowed: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    content: NDArray[np.bool_],
) -> Near:
    """`allowed`: the pieces of `b` that a piece of `a` may be shown beside, first where it is no content word."""
    forth, back = np.full(len(a), -1.0, np.float32), np.empty(len(b), np.float32)
    where, cosine = np.zeros(len(a), np.intp), np.full(len(a), -2.0, np.float32)
    for start in range(0, len(b), _BLOCK):
        cosines = a @ b[start : start + _BLOCK].T
        forth = np.maximum(forth, cosines.max(axis=1))
        back[start : start + _BLOCK] = cosines.max(axis=0)
        for may, rows in zip(allowed, (~content, content), strict=True):
            shut = ~may[start : start + _BLOCK]
            here = np.where(shut, np.float32(-2.0), cosines[rows])
            best = here.argmax(axis=1)
            value = here[np.arange(len(here)), best]
            better = value > cosine[rows]
            where[rows] = np.where(better, start + best, where[rows])
            cosine[rows] = np.where(better, value, cosine[rows])
    return Near(forth, back, where, cosine)


def _over_content(values: NDArray[np.float32], counts: NDArray[np.bool_]) -> float:
    return float(values[counts].mean()) if counts.any() else 0.0


def content_pieces(vectors: TokenVectors) -> NDArray[np.bool_]:
    """Pieces that are no stop word and no mark. What goes on inside a word counts: `##s` is no `s`."""
    found = np.ones(len(vectors), bool)
    end = -1
    for index in range(len(vectors)):
        piece = vectors.token(index)
        goes_on = vectors.starts[index] == end and piece[:1].isalnum() and vectors.text[end - 1 : end].isalnum()
        found[index] = not _MARKS.fullmatch(piece) and (goes_on or piece.lower() not in STOP)
        end = int(vectors.ends[index])
    return found


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return (vectors / np.where(norms == 0.0, 1.0, norms)).astype(np.float32)
