"""Runs of n neighbours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")


def ngrams(items: Sequence[Item], n: int) -> list[tuple[Item, ...]]:
    """Every run of `n`; none when there are fewer items than `n`."""
    if n < 1:
        raise ValueError(f"n must be at least 1, not {n}")
    return list(zip(*(items[i:] for i in range(n)), strict=False))


def ngram_counts(items: Sequence[Item], n: int) -> Counter[tuple[Item, ...]]:
    return Counter(ngrams(items, n))
