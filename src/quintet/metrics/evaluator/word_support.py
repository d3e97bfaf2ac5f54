"""From sub-words to words: how well each word of a text is backed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quintet.text.content_words import is_content, plain_words
from quintet.text.tokens import Piece, whitespace_words

UNSUPPORTED = 0.5
"""Sentences less likely to be entailed, and words less likely to be backed, than this are pointed at."""


class Backed(NamedTuple):
    word: Piece
    value: float
    """Mean of its sub-words, marks aside."""
    counts: bool
    """Whether it carries content."""

    @property
    def note(self) -> str:
        return "unsupported" if self.value < UNSUPPORTED else ""


def backed_words(text: str, starts: NDArray[np.int32], values: NDArray[np.float32]) -> Iterator[Backed]:
    """The words of a text; `starts`: the first character of each sub-word that is no blank, or one before the text."""
    spoken = np.array([text[start : start + 1].isalnum() for start in starts], bool)
    for word in whitespace_words(text):
        inside = values[(starts >= word.start) & (starts < word.end) & spoken]
        spelled = plain_words(word.text)
        if len(inside) and spelled:
            yield Backed(word, float(inside.mean()), any(map(is_content, spelled)))


def mean_over_content(values: Sequence[tuple[float, bool]]) -> float:
    """Over words that carry content; over all if none does; 0 if there is none."""
    chosen = [value for value, counts in values if counts] or [value for value, _ in values] or [0.0]
    return min(1.0, sum(chosen) / len(chosen))
