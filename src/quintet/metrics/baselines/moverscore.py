"""MoverScore (Zhao et al. 2019): 1 / (1 + d), d the least travel between contextual vectors, by exact transport."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Row
from quintet.core.score import Score
from quintet.metrics.baselines.frequencies import IdfMetric, subword_units
from quintet.metrics.baselines.references import best_reference, texts_of
from quintet.metrics.baselines.units import NO_WORDS, Floats, unit_vectors
from quintet.models.roles import Long, TokenVectors
from quintet.text.transport import transport


@dataclass(frozen=True, eq=False)
class Load:
    points: Floats
    weights: Floats
    cut: int


@dataclass(frozen=True)
class MoverScore(IdfMetric):
    long: Long = "cut"
    """As in the released code; transport between thousands of points would take long."""
    ngram: int = 1

    name = "moverscore"
    paper = "Zhao et al. 2019"
    dimensions = (Dimension("moverscore", "How little do meanings have to move to a reference?", ("references",)),)

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        found = self.embed(texts_of(examples))
        loads = {text: self._load(tokens) for text, tokens in found.items()}
        return [{"moverscore": _score_one(example, loads)} for example in examples]

    def _load(self, tokens: TokenVectors) -> Load:
        """n-grams of sub-words: idf-weighted sums of unit vectors, weighing the sum of their idf (equation 3)."""
        weights = self.weights(tokens)[1:-1]
        # As released: punctuation and the rest of a split word weigh nothing; here, unless there is nothing else.
        named = np.array([not _weightless(unit) for unit in subword_units(tokens)], bool)
        weights = weights * named if (weights * named).any() else np.ones(len(weights))
        keep = np.flatnonzero(weights)
        points, weights = unit_vectors(tokens.inner.vectors[keep]), weights[keep]
        n = min(self.ngram, len(keep))
        if n > 1:
            sums = sliding_window_view(weights[:, None] * points, n, axis=0).sum(axis=-1)
            weights = sliding_window_view(weights, n).sum(axis=-1)
            points = unit_vectors(sums)
        return Load(points, weights, tokens.cut)


def _weightless(unit: str) -> bool:
    return (unit.startswith("##") and len(unit) > 2) or all(letter in string.punctuation for letter in unit)


def _score_one(example: Example, loads: Mapping[str, Load]) -> Score:
    mine = loads[example.output]
    found = best_reference(example, lambda reference: _against(mine, loads[reference.text]))
    return replace(found, cut={"output": mine.cut}) if mine.cut else found


def _against(mine: Load, theirs: Load) -> Score:
    if not len(mine.points) or not len(theirs.points):
        return Score(0.0, flags=(NO_WORDS,))
    travel = np.sqrt(np.maximum(2.0 - 2.0 * (mine.points @ theirs.points.T), 0.0))
    distance = transport(travel, mine.weights, theirs.weights).cost
    return Score(1.0 / (1.0 + distance), parts={"distance": distance})
