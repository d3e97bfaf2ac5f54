"""From tokens, which an encoder gives, to words, which people read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quintet.core.score import Span
from quintet.metrics.baselines.references import Reference
from quintet.models.roles import TokenVectors
from quintet.text.tokens import Piece, words

Floats = NDArray[np.float64]
NO_WORDS = "no words"


@dataclass(frozen=True, eq=False)
class Words:
    pieces: tuple[Piece, ...]
    vectors: Floats
    """(words, width): each the mean of its tokens."""


def word_vectors(tokens: TokenVectors) -> Words:
    """The words that the encoder saw; where a text has none, its punctuation marks stand in."""
    found = words(tokens.text) or words(tokens.text, punctuation=True)
    owner = _owners(tokens.inner, found)
    vectors = np.zeros((len(found), tokens.vectors.shape[1]))
    np.add.at(vectors, owner[owner >= 0], tokens.inner.vectors[owner >= 0])
    sizes = np.bincount(owner[owner >= 0], minlength=len(found))
    seen = np.flatnonzero(sizes)
    return Words(tuple(found[i] for i in seen), vectors[seen] / sizes[seen, None])


def word_evidence(
    mine: TokenVectors, theirs: TokenVectors, values: Floats, best: NDArray[np.intp], reference: Reference
) -> tuple[Span, ...]:
    """By word of `mine`: the mean value of its tokens, and the place that the best of them was matched with.

    `values` and `best` run over the tokens of `mine`, special tokens included.
    """
    found = words(mine.text, punctuation=True)
    owner = _owners(mine.inner, found)
    members = 1 + np.flatnonzero(owner >= 0)  # tokens inside a word; the first special token stands before them
    spans = []
    # Tokens come in order, so those of one word are neighbours.
    for group in np.split(members, 1 + np.flatnonzero(np.diff(owner[members - 1]))) if len(members) else ():
        piece = found[owner[group[0] - 1]]
        at = int(best[group[np.argmax(values[group])]])
        place = reference.place(theirs.starts[at], theirs.ends[at]) if theirs.ends[at] > theirs.starts[at] else None
        spans.append(Span(piece.start, piece.end, round(float(values[group].mean()), 4), other=place))
    return tuple(spans)


def continues(tokens: TokenVectors) -> NDArray[np.bool_]:
    """Which tokens carry on the word of the one before, as `##ing` does; special tokens do not."""
    flags = np.zeros(len(tokens), bool)
    for i in range(1, len(tokens)):
        start, end = int(tokens.starts[i]), int(tokens.ends[i])
        joined = start == int(tokens.ends[i - 1]) and 0 < start < end
        flags[i] = joined and tokens.text[start - 1 : start + 1].isalnum()
    return flags


def unit_vectors(vectors: NDArray[np.floating]) -> Floats:
    """Scaled to length 1; a zero vector stays."""
    exact = vectors.astype(np.float64)
    lengths = np.linalg.norm(exact, axis=-1, keepdims=True)
    return exact / np.where(lengths > 0, lengths, 1.0)


def _owners(inner: TokenVectors, pieces: list[Piece]) -> NDArray[np.intp]:
    """For each token the word that its last character stands in, or -1. (The first may be a space.)"""
    if not pieces:
        return np.full(len(inner), -1)
    starts = np.array([piece.start for piece in pieces])
    ends = np.array([piece.end for piece in pieces])
    last = inner.ends - 1
    owner = np.searchsorted(starts, last, side="right") - 1
    return np.where((owner >= 0) & (last < ends[owner]) & (inner.ends > inner.starts), owner, -1)
