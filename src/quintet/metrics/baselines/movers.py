"""Word Mover's Distance (Kusner et al. 2015) and Sentence Mover's (Clark et al. 2019), by exact transport."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Row
from quintet.core.score import Score, Span
from quintet.metrics.baselines.references import Reference, nearest_reference, references, texts_of
from quintet.metrics.baselines.units import NO_WORDS, Floats, Words, unit_vectors, word_vectors
from quintet.metrics.role_metric import EncoderMetric
from quintet.text.content_words import is_stopword
from quintet.text.sentences import sentences
from quintet.text.tokens import Piece
from quintet.text.transport import MOST_POINTS, heaviest, transport

HIGH = 2.0
"""Unit vectors are never further apart."""


@dataclass(frozen=True, eq=False)
class Load:
    """What is carried: points on the unit sphere, their weights, and where each stands first."""

    points: Floats
    weights: Floats
    pieces: tuple[Piece, ...]
    lighter: int = 0
    """Points that were left out, because exact transport between thousands takes minutes and gigabytes."""


@dataclass(frozen=True)
class MoversDistance(EncoderMetric):
    layer: int = 0
    units: Literal["words", "sentences", "both"] = "words"
    """both: Clark et al.'s S+WMS, words and sentences in one load."""
    stopwords: Literal["drop", "keep"] = "drop"
    """Kusner et al. drop them; a text of nothing else keeps them."""

    version = 3
    """2: of long texts the heaviest words are carried. 3: rows of the embedding table, without positions."""
    name = "movers-distance"
    paper = "Kusner et al. 2015; Clark et al. 2019"
    dimensions = (
        Dimension(
            "distance",
            "How far do words have to travel to a reference?",
            ("references",),
            high=HIGH,
            higher_is_better=False,
        ),
    )

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        found = self.embed(texts_of(examples))
        loads = {text: self._load(text, word_vectors(tokens)) for text, tokens in found.items()}
        return [{"distance": self._score_one(example, loads, found[example.output].cut)} for example in examples]

    def _score_one(self, example: Example, loads: Mapping[str, Load], cut: int) -> Score:
        mine = loads[example.output]
        found = nearest_reference(example, lambda reference: _against(mine, loads[reference.text], reference), HIGH)
        lighter = max([mine.lighter, *(loads[r.text].lighter for r in references(example))])
        if lighter:
            flag = f"long: the {MOST_POINTS} words or sentences that weigh most were moved, {lighter} were not"
            found = replace(found, flags=(*found.flags, flag))
        return replace(found, cut={"output": cut}) if cut else found

    def _load(self, text: str, found: Words) -> Load:
        parts = []
        if self.units != "sentences":
            parts.append(self._word_load(found))
        if self.units != "words":
            parts.append(_sentence_load(text, found))
        points, weights = (np.concatenate([getattr(part, name) for part in parts]) for name in ("points", "weights"))
        pieces = [piece for part in parts for piece in part.pieces]
        kept = heaviest(weights)
        return Load(points[kept], weights[kept], tuple(pieces[i] for i in kept), len(pieces) - len(kept))

    def _word_load(self, found: Words) -> Load:
        """Equal words are one point: the mean of their vectors, weighing as often as it stands there."""
        keep = [i for i, p in enumerate(found.pieces) if self.stopwords == "keep" or not is_stopword(p.text)]
        places: dict[str, list[int]] = {}
        for i in keep or range(len(found.pieces)):
            places.setdefault(found.pieces[i].text.lower(), []).append(i)
        means = [found.vectors[listed].mean(axis=0) for listed in places.values()]
        return Load(
            unit_vectors(np.array(means).reshape(len(means), found.vectors.shape[1])),
            np.array([float(len(listed)) for listed in places.values()]),
            tuple(found.pieces[listed[0]] for listed in places.values()),
        )


def _sentence_load(text: str, found: Words) -> Load:
    """A sentence is the mean of its word vectors and weighs as many words as it has (Clark et al. equation 2)."""
    points, weights, pieces = [], [], []
    starts = np.array([piece.start for piece in found.pieces])
    for piece in sentences(text):
        first, last = np.searchsorted(starts, (piece.start, piece.end))
        inside = found.vectors[first:last]
        if len(inside):
            points.append(inside.mean(axis=0))
            weights.append(float(len(inside)))
            pieces.append(piece)
    return Load(
        unit_vectors(np.array(points).reshape(len(points), found.vectors.shape[1])), np.array(weights), tuple(pieces)
    )


def _against(mine: Load, theirs: Load, reference: Reference) -> Score:
    if not mine.pieces or not theirs.pieces:
        return Score(HIGH, flags=(NO_WORDS,))
    travel = np.sqrt(np.maximum(2.0 - 2.0 * (mine.points @ theirs.points.T), 0.0))
    found = transport(travel, mine.weights, theirs.weights)
    return Score(min(found.cost, HIGH), _routes(mine, theirs, found.plan * travel, found.plan, reference))


def _routes(mine: Load, theirs: Load, cost: Floats, plan: Floats, reference: Reference) -> tuple[Span, ...]:
    """Evidence: what each unit costs, and where most of it goes."""
    goes = plan.argmax(axis=1)
    spans = []
    for i, piece in enumerate(mine.pieces):
        other = theirs.pieces[goes[i]]
        kind = "sentence" if " " in piece.text else "word"
        place = reference.place(other.start, other.end)
        spans.append(Span(piece.start, piece.end, round(float(cost[i].sum()), 4), kind, other=place))
    return tuple(spans)
