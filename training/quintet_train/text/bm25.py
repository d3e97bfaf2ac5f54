"""Okapi BM25 with the defaults of `rank_bm25` (k1 1.5, b 0.75, epsilon 0.25), over an inverted index.

UniEval retrieves the neighbours it takes wrong sentences from with this ranking (paper §3.2, released pseudo data).
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Sequence


class Bm25:
    """Ranks documents, given as token lists, for a query."""

    def __init__(
        self, documents: Sequence[Sequence[str]], k1: float = 1.5, b: float = 0.75, epsilon: float = 0.25
    ) -> None:
        self.size = len(documents)
        counts = [Counter(tokens) for tokens in documents]
        lengths = [len(tokens) for tokens in documents]
        mean_length = sum(lengths) / self.size if self.size else 0.0
        self._idf = _inverse_document_frequency(counts, epsilon)
        self._postings: dict[str, list[tuple[int, float]]] = {}
        for index, (count, length) in enumerate(zip(counts, lengths, strict=True)):
            saturation = k1 * (1 - b + b * length / mean_length) if mean_length else k1
            for token, times in count.items():
                weight = self._idf[token] * times * (k1 + 1) / (times + saturation)
                self._postings.setdefault(token, []).append((index, weight))

    def scores(self, query: Sequence[str]) -> list[float]:
        """One score per document; a query token that occurs twice counts twice, as in `rank_bm25`."""
        totals = [0.0] * self.size
        for token, times in Counter(query).items():
            for index, weight in self._postings.get(token, ()):
                totals[index] += times * weight
        return totals

    def top(self, query: Sequence[str], count: int, skip: frozenset[int] = frozenset()) -> list[int]:
        """The best documents, best first, ties by position, without those in `skip`."""
        totals = self.scores(query)
        usable = (index for index in range(self.size) if index not in skip)
        return heapq.nsmallest(count, usable, key=lambda i: (-totals[i], i))


def _inverse_document_frequency(counts: Sequence[Counter[str]], epsilon: float) -> dict[str, float]:
    """log((N - n + .5) / (n + .5)); words in more than half of the documents get epsilon times the mean instead."""
    holding = Counter(token for count in counts for token in count)
    total = len(counts)
    idf = {token: math.log(total - n + 0.5) - math.log(n + 0.5) for token, n in holding.items()}
    if not idf:
        return idf
    floor = epsilon * sum(idf.values()) / len(idf)
    return {token: value if value >= 0 else floor for token, value in idf.items()}
