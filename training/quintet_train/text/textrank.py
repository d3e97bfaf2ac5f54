"""TextRank over sentences, in the manner of `summa`: shared words over the logs of the lengths, then PageRank.

summa stems with Snowball; here a few endings are taken off instead, so rankings agree closely but not exactly.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from quintet.text.content_words import ENGLISH

_ENDINGS = ("ingly", "edly", "ing", "ies", "ed", "es", "ly", "s")


def content_stems(sentence: str) -> list[str]:
    """The words that can tie two sentences together: lower-cased, no function words, common endings removed."""
    words = re.findall(r"[a-z0-9]+", sentence.lower())
    return [_stem(word) for word in words if word not in ENGLISH]


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def similarity(first: Sequence[str], second: Sequence[str]) -> float:
    """Mihalcea and Tarau's overlap; zero when both sentences have a single word (the logs vanish)."""
    scale = (math.log10(len(first)) if first else 0.0) + (math.log10(len(second)) if second else 0.0)
    return len(set(first) & set(second)) / scale if scale > 0 else 0.0


def rank(sentences: Sequence[str], damping: float = 0.85, tolerance: float = 1e-8, rounds: int = 200) -> list[float]:
    """PageRank of each sentence, summing to 1 over those that share a word with another; the others get 0."""
    stems = [content_stems(sentence) for sentence in sentences]
    size = len(sentences)
    weights = [[0.0] * size for _ in range(size)]
    for i in range(size):
        for j in range(i):
            weights[i][j] = weights[j][i] = similarity(stems[i], stems[j])
    linked = [i for i in range(size) if sum(weights[i]) > 0]
    scores = [0.0] * size
    if not linked:
        return scores
    out = {i: sum(weights[i]) for i in linked}
    for i in linked:
        scores[i] = 1 / len(linked)
    for _ in range(rounds):
        base = (1 - damping) / len(linked)
        fresh = {i: base + damping * sum(scores[j] * weights[j][i] / out[j] for j in linked) for i in linked}
        moved = sum(abs(fresh[i] - scores[i]) for i in linked)
        for i in linked:
            scores[i] = fresh[i]
        if moved < tolerance:
            break
    return scores


def summarize(sentences: Sequence[str], ratio: float) -> list[int]:
    """Positions of the best int(n * ratio) sentences, in the order of the text."""
    scores = rank(sentences)
    keep = int(len(sentences) * ratio)
    best = sorted(range(len(sentences)), key=lambda i: (-scores[i], i))[:keep]
    return sorted(index for index in best if scores[index] > 0)
