"""Focus: do neighbouring sentences speak of related things, by exact word mover's distance (GRUEN section 3)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Row
from quintet.core.score import EMPTY_OUTPUT, Score, Span
from quintet.errors import InputError
from quintet.metrics.gruen.sentences import placed_sentences
from quintet.metrics.role_metric import EncoderMetric
from quintet.models.roles import TokenVectors
from quintet.text.content_words import ENGLISH, SPACY
from quintet.text.punkt import RULES, sentences_identity
from quintet.text.tokens import Piece, words
from quintet.text.transport import heaviest, transport

THRESHOLD = 0.05
PENALTY = 0.1
MIDDLE = 7.0
"""The released formula's distance of similarity one half, in en_core_web_md's space."""
UNRELATED = 2.06
"""Of 1,227 pairs of sentences from different news articles (CNN/DailyMail), one in twenty is further apart than this
under the bundled encoder's embedding table. Neighbours then count as unrelated beyond 1.96: 39 % of those pairs, and
a sixth of true neighbours."""


def released_similarity(distance: float) -> float:
    """1 / (1 + exp(-d + 7)): grows with the distance, so below 0.05 means closer than 7 - ln 19 = 4.0556."""
    return 1.0 / (1.0 + math.exp(min(MIDDLE - distance, 700.0)))


def relative_similarity(distance: float, unrelated: float) -> float:
    """1 for the same words, 0 for sentences as far apart as the furthest of unrelated texts."""
    return max(0.0, 1.0 - distance / unrelated)


@dataclass(frozen=True, eq=False)
class Cloud:
    """A sentence as weighted points: its content words."""

    vectors: NDArray[np.float64]
    weights: NDArray[np.float64]


@dataclass(frozen=True)
class Focus(EncoderMetric):
    layer: int = 0
    """The embedding table: en_core_web_md's word vectors are not shipped; model=vectors:FILE takes them."""
    mode: Literal["paper", "code2020", "off"] = "paper"
    """paper: neighbours less similar than 0.05 are penalised. code2020: the released formula, which penalises
    neighbours that are too close. off: what the code of 2022 and later amounts to."""
    unrelated: float = UNRELATED
    """What counts as far in this model. 7 with en_core_web_md's vectors is the released formula unchanged."""
    stopwords: str | None = None
    """A file with a stop word a line. None: spaCy's list in mode code2020, as released, NLTK's 179 in the others."""
    sentences: str = RULES
    """punkt:FOLDER: by NLTK's Punkt, as released; FOLDER is punkt_tab/english of NLTK's data."""

    version = 4
    """2: of a sentence with more than 1,000 different words the most frequent are carried. 3: rows of the embedding
    table, without positions, so that the same words are 0 apart; `unrelated` counted anew. 4: mode code2020 leaves out
    spaCy's stop words, as the released code did."""
    name = "gruen-focus"
    paper = "Zhu & Bhat 2020"
    model_role: ClassVar[str] = "embedder"
    dimensions = (Dimension("focus", "Do neighbouring sentences speak of related things?", low=-PENALTY, high=0.0),)

    def prepare(self) -> None:
        if self.mode != "off":
            super().prepare()

    def model_identities(self) -> Mapping[str, str]:
        return {**super().model_identities(), "sentences": sentences_identity(self.sentences)}

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        if self.mode == "off":
            return [{"focus": Score(0.0)} for _ in examples]
        texts = [placed_sentences(example.output, self.mode == "code2020", self.sentences) for example in examples]
        paired = [piece.text for pieces in texts if len(pieces) > 1 for piece in pieces]
        own = SPACY if self.mode == "code2020" else ENGLISH
        listed = own if self.stopwords is None else _read_words(self.stopwords)
        clouds = {text: _cloud(tokens, listed) for text, tokens in self.embed(paired).items()}
        return [{"focus": self._one(pieces, clouds)} for pieces in texts]

    def _one(self, pieces: Sequence[Piece], clouds: Mapping[str, Cloud]) -> Score:
        """One penalty for the text if any pair of neighbours offends: the released reading of the paper."""
        spans, similarities = [], []
        for first, second in pairwise(pieces):
            a, b = clouds[first.text], clouds[second.text]
            if not len(a.weights) or not len(b.weights):
                continue  # nothing to compare; the released code's exception gives the same
            similarity = self.similarity(distance(a, b))
            similarities.append(similarity)
            if similarity < THRESHOLD:
                note = "too close" if self.mode == "code2020" else "unrelated"
                other = ("output", first.start, first.end)
                spans.append(Span(second.start, second.end, round(similarity, 4), "pair", note=note, other=other))
        value = -PENALTY if spans else 0.0
        parts = {"pairs": float(len(similarities)), "offending": float(len(spans))}
        if similarities:
            parts["least similarity"] = min(similarities)
        return Score(value, tuple(spans), parts)

    def similarity(self, moved: float) -> float:
        if self.mode == "code2020":
            return released_similarity(moved * MIDDLE / self.unrelated)
        return relative_similarity(moved, self.unrelated)

    def _score_empty(self, example: Example) -> Row:
        return {"focus": Score(0.0, flags=(EMPTY_OUTPUT,))}


def distance(a: Cloud, b: Cloud) -> float:
    """Exact earth mover's distance under Euclidean ground distance."""
    apart = np.sqrt([((b.vectors - one) ** 2).sum(-1) for one in a.vectors])
    return transport(apart, a.weights, b.weights).cost


@cache
def _read_words(path: str) -> frozenset[str]:
    try:
        return frozenset(Path(path).expanduser().read_text(encoding="utf-8").lower().split())
    except (OSError, UnicodeDecodeError):
        raise InputError("cannot read the stop words", path, "name a text file with a word a line") from None


def _cloud(tokens: TokenVectors, stopwords: frozenset[str] = ENGLISH) -> Cloud:
    """Alphabetic words that are no stop words, by their written form; weights log(1 + count) as in wmd-relax."""
    found = [piece for piece in words(tokens.text) if piece.text.isalpha() and piece.text.lower() not in stopwords]
    counts = Counter(piece.text for piece in found)
    first: dict[str, Piece] = {}
    for piece in found:
        first.setdefault(piece.text, piece)
    vectors, weights = [], []
    for text, piece in first.items():
        own = (tokens.ends > piece.start) & (tokens.ends <= piece.end) & (tokens.ends > tokens.starts)
        if own.any():
            vectors.append(tokens.vectors[own].mean(axis=0, dtype=np.float64))
            weights.append(math.log1p(counts[text]))
    width = tokens.vectors.shape[1]
    # A "sentence" of thousands of different words is none; without a bound it would take minutes.
    kept = heaviest(weights)
    return Cloud(np.array(vectors).reshape(len(vectors), width)[kept], np.array(weights)[kept])
