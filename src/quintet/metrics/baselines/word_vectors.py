"""Embedding Average, Greedy Matching and Vector Extrema: similarity of word vectors without their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Row
from quintet.core.score import Score
from quintet.metrics.baselines.references import Reference, best_reference, texts_of
from quintet.metrics.baselines.units import NO_WORDS, Floats, Words, unit_vectors, word_vectors
from quintet.metrics.role_metric import EncoderMetric


@dataclass(frozen=True)
class WordVectors(EncoderMetric):
    layer: int = 0
    """The embedding table. The papers had vectors of words: model=vectors:FILE takes GloVe's or word2vec's."""
    how: Literal["average", "greedy", "extrema"] = "average"

    version = 2
    """2: rows of the embedding table, before positions are added to them."""
    name = "word-vectors"
    paper = "Foltz et al. 1998; Rus & Lintean 2012; Forgues et al. 2014; Liu et al. 2016"
    dimensions = (Dimension("similarity", "Are the words close to those of a reference?", ("references",), low=-1.0),)

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        found = self.embed(texts_of(examples))
        units = {text: word_vectors(tokens) for text, tokens in found.items()}
        return [{"similarity": self._score_one(example, units, found[example.output].cut)} for example in examples]

    def _score_one(self, example: Example, units: Mapping[str, Words], cut: int) -> Score:
        mine = units[example.output]
        found = best_reference(example, lambda reference: self._against(mine, units[reference.text], reference))
        return replace(found, cut={"output": cut}) if cut else found

    def _against(self, mine: Words, theirs: Words, reference: Reference) -> Score:
        if not mine.pieces or not theirs.pieces:
            return Score(0.0, flags=(NO_WORDS,))
        if self.how == "greedy":
            return _greedy(mine, theirs, reference)
        summary = _mean if self.how == "average" else _extremes
        return Score(_cosine(summary(mine.vectors), summary(theirs.vectors)))


def _mean(vectors: Floats) -> Floats:
    return vectors.mean(axis=0)


def _extremes(vectors: Floats) -> Floats:
    """On each axis the value furthest from zero (Forgues et al. 2014)."""
    high, low = vectors.max(axis=0), vectors.min(axis=0)
    return np.where(high >= -low, high, low)


def _cosine(a: Floats, b: Floats) -> float:
    return float(np.clip(unit_vectors(a) @ unit_vectors(b), -1.0, 1.0))


def _greedy(mine: Words, theirs: Words, reference: Reference) -> Score:
    """Rus & Lintean 2012: each word takes its nearest on the other side; the mean of both directions."""
    near = np.clip(unit_vectors(mine.vectors) @ unit_vectors(theirs.vectors).T, -1.0, 1.0)
    value = float(near.max(axis=1).mean() + near.max(axis=0).mean()) / 2
    best = near.argmax(axis=1)
    spans = tuple(
        reference.matched(piece, theirs.pieces[j], round(float(near[i, j]), 4))
        for i, (piece, j) in enumerate(zip(mine.pieces, best, strict=True))
    )
    return Score(value, spans)
