"""Metrics on contextual vectors: BERTScore, MoverScore, SUPERT."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Row
from quintet.core.score import EMPTY_OUTPUT, Score
from quintet.metrics.baselines.frequencies import IdfMetric, subword_units
from quintet.metrics.baselines.references import best_reference, harmonic_mean, no_reference, references, texts_of
from quintet.metrics.baselines.units import NO_WORDS, Floats, unit_vectors, word_evidence
from quintet.metrics.role_metric import EncoderMetric
from quintet.models.roles import Long, TokenVectors
from quintet.text.content_words import is_stopword
from quintet.text.sentences import sentences
from quintet.text.transport import transport

# BERTScore (Zhang et al. 2020); special tokens, idf and several references are treated as bert_score does.

QUESTION = "Does the output mean what a reference means, word by word in context?"


@dataclass(frozen=True, eq=False)
class Match:
    parts: Mapping[str, float]
    """p, r and f."""
    nearest: Floats
    """For each token of the output, the highest cosine in the reference."""
    at: NDArray[np.intp]
    """And at which of its tokens."""


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
    """Each token takes its nearest on the other side, special tokens included; weighted means are P and R."""
    near = unit_vectors(mine.vectors) @ unit_vectors(theirs.vectors).T
    at = near.argmax(axis=1)
    nearest = near[np.arange(len(near)), at]
    precision, recall = _mean(nearest, my_weights), _mean(near.max(axis=0), their_weights)
    return Match({"p": precision, "r": recall, "f": harmonic_mean(precision, recall)}, nearest, at)


def _mean(values: Floats, weights: Floats) -> float:
    total = weights.sum()
    return float(np.clip((values * weights).sum() / total, -1.0, 1.0)) if total > 0 else 0.0


# MoverScore (Zhao et al. 2019): 1 / (1 + d), d the least travel between contextual vectors, by exact transport.


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
        """n-grams of tokens: idf-weighted sums of unit vectors, weighing the sum of their idf (equation 3)."""
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


# SUPERT (Gao et al. 2020): a summary beside a pseudo-reference made of the source's own first sentences.


@dataclass(frozen=True)
class Supert(EncoderMetric):
    """F of greedy matching of contextual vectors without stop words, against the first sentences of the source."""

    layer: int = -1
    """The paper takes the last layer of bert-large-nli-stsb: layer=24."""
    top: int = 15
    """Sentences of the source that stand in for a reference; the paper's best simple choice takes 10 to 15."""

    name = "supert"
    paper = "Gao et al. 2020"
    dimensions = (Dimension("relevance", "Does the summary say what the source opens with?", ("source",), low=-1.0),)

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        stand_ins = [" ".join(piece.text for piece in sentences(e.text("source"))[: self.top]) for e in examples]
        found = self.embed([*(e.output for e in examples), *stand_ins])
        rows: list[Row] = []
        for example, stand_in in zip(examples, stand_ins, strict=True):
            mine, theirs = found[example.output], found[stand_in]
            weights = _content(mine), _content(theirs)
            if not weights[0].any() or not weights[1].any():
                rows.append({"relevance": Score(0.0, flags=(NO_WORDS,))})
                continue
            parts = dict(match_greedily(mine, theirs, *weights).parts)
            rows.append({"relevance": Score(parts["f"], parts=parts, cut={"output": mine.cut} if mine.cut else {})})
        return rows


def _content(tokens: TokenVectors) -> Floats:
    """1 for tokens that are neither stop words nor marks, 0 for the others and the special tokens."""
    units = [tokens.token(i) for i in range(len(tokens))]
    return np.array([float(any(c.isalnum() for c in unit) and not is_stopword(unit)) for unit in units])
