"""BERTScore (Zhang et al. 2020); special tokens, idf and several references are treated as bert_score does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Row
from quintet.core.score import EMPTY_OUTPUT, Score
from quintet.metrics.baselines.frequencies import IdfMetric
from quintet.metrics.baselines.references import harmonic_mean, no_reference, references, texts_of
from quintet.metrics.baselines.units import NO_WORDS, Floats, unit_vectors, word_evidence
from quintet.models.roles import TokenVectors

QUESTION = "Does the output mean what a reference means, word by word in context?"


@dataclass(frozen=True, eq=False)
class Match:
    parts: Mapping[str, float]
    """p, r and f."""
    nearest: Floats
    """For each sub-word of the output, the highest cosine in the reference."""
    at: NDArray[np.intp]
    """And at which of its sub-words."""


@dataclass(frozen=True)
class BertScore(IdfMetric):
    part: Literal["p", "r", "f"] = "f"
    baseline: float | None = None
    """Rescales to (x - baseline) / (1 - baseline), so that what unrelated sentences get becomes 0."""

    name = "bertscore"
    paper = "Zhang et al. 2020"

    @property
    def dimensions(self) -> tuple[Dimension, ...]:  # type: ignore[override]
        return (Dimension("bertscore", QUESTION, ("references",), low=self._rescale(-1.0)),)

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        found = self.embed(texts_of(examples))
        return [{"bertscore": self._score_one(example, found)} for example in examples]

    def _score_one(self, example: Example, found: Mapping[str, TokenVectors]) -> Score:
        mine, known = found[example.output], references(example)
        if not known:
            return no_reference(self._rescale(0.0))
        if len(mine) <= 2:
            return Score(self._rescale(0.0), flags=(NO_WORDS,))
        matches = [self._match(mine, found[reference.text]) for reference in known]
        # bert_score takes the best reference for P, R and F each on its own.
        parts = {part: self._rescale(max(match.parts[part] for match in matches)) for part in "prf"}
        reference, match = max(zip(known, matches, strict=True), key=lambda pair: pair[1].parts["f"])
        spans = word_evidence(mine, found[reference.text], match.nearest, match.at, reference)
        return Score(parts[self.part], spans, parts, cut={"output": mine.cut} if mine.cut else {})

    def _match(self, mine: TokenVectors, theirs: TokenVectors) -> Match:
        return match_greedily(mine, theirs, self.weights(mine), self.weights(theirs))

    def _score_empty(self, example: Example) -> Row:
        return {"bertscore": Score(self._rescale(0.0), flags=(EMPTY_OUTPUT,))}

    def _rescale(self, value: float) -> float:
        return value if self.baseline is None else (value - self.baseline) / (1 - self.baseline)


def match_greedily(mine: TokenVectors, theirs: TokenVectors, my_weights: Floats, their_weights: Floats) -> Match:
    """Each sub-word takes its nearest on the other side, special tokens included; weighted means are P and R."""
    near = unit_vectors(mine.vectors) @ unit_vectors(theirs.vectors).T
    at = near.argmax(axis=1)
    nearest = near[np.arange(len(near)), at]
    precision, recall = _mean(nearest, my_weights), _mean(near.max(axis=0), their_weights)
    return Match({"p": precision, "r": recall, "f": harmonic_mean(precision, recall)}, nearest, at)


def _mean(values: Floats, weights: Floats) -> float:
    total = weights.sum()
    return float(np.clip((values * weights).sum() / total, -1.0, 1.0)) if total > 0 else 0.0
