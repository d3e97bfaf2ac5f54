"""Aligner E, embedding matching: a unit is as aligned as its best cosine in the other text (CTC section 3.2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from quintet.metrics.ctc.alignment import NO_GROUNDS, Alignment
from quintet.models.roles import TokenVectors

UNKNOWN_WORDS = "most of the text is unknown to the model"
_BLOCK = 4096
"""Columns of the cosine matrix held at once, so that a text of a megabyte fits in memory."""


def align_vectors(a: TokenVectors, b: TokenVectors, mean: NDArray[np.float32] | None = None) -> Alignment:
    """Special tokens take no part. A text without tokens aligns with nothing: 0 for every unit.

    `mean` is taken away from every vector first: the vectors of one model point nearly the same way.
    """
    inner_a, inner_b = a.inner, b.inner
    values = np.full(len(inner_a), -np.inf)
    best = np.full(len(inner_a), -1, np.int64)
    if len(inner_b) == 0:
        values = np.zeros(len(inner_a))
    elif len(inner_a):
        left = _unit_length(inner_a.vectors, mean)
        for start in range(0, len(inner_b), _BLOCK):
            cosines = left @ _unit_length(inner_b.vectors[start : start + _BLOCK], mean).T
            _part_strangers(cosines, inner_a, inner_b, start)
            winner = cosines.argmax(axis=1)
            top = cosines[np.arange(len(left)), winner]
            better = top > values
            values[better], best[better] = top[better], start + winner[better]
    support = np.full((len(inner_a), 2), -1, np.int32)
    found = best >= 0
    support[found, 0], support[found, 1] = inner_b.starts[best[found]], inner_b.ends[best[found]]
    flags = () if len(inner_b) else (NO_GROUNDS,)
    if inner_a.unknown is not None and inner_a.unknown.sum() > len(inner_a) / 2:
        flags = (*flags, UNKNOWN_WORDS)
    clipped = np.clip(values, -1.0, 1.0)
    found = inner_a.starts, inner_a.ends, clipped, support
    return Alignment(a.text, *found, a.cut, b.cut, flags=flags, pieces=inner_a.pieces)


def _part_strangers(cosines: NDArray[np.float32], a: TokenVectors, b: TokenVectors, start: int) -> None:
    """Two words the vocabulary does not have look the same to the model: they match only if they are the same."""
    if a.unknown is None or b.unknown is None:
        return
    columns = np.flatnonzero(b.unknown[start : start + _BLOCK])
    if not len(columns):
        return
    there = [b.token(start + int(column)) for column in columns]
    for row in np.flatnonzero(a.unknown):
        here = a.token(int(row))
        cosines[row, columns[[word != here for word in there]]] = 0.0


def _unit_length(vectors: NDArray[np.float32], mean: NDArray[np.float32] | None) -> NDArray[np.float32]:
    vectors = vectors if mean is None else vectors - mean
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(norms == 0.0, 1.0, norms)).astype(np.float32)
