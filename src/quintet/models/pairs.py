"""Two texts in one input: how they are framed, and which one gives way when they do not fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quintet.errors import ModelError
from quintet.models.roles import Limits
from quintet.models.subwords import Pieces, Subwords

DOUBLE = frozenset({"roberta", "xlm-roberta", "camembert", "mpnet", "bart", "longformer"})
"""Model types that put two separators between the texts of a pair."""


@dataclass(frozen=True, slots=True, eq=False)
class Framed:
    ids: NDArray[np.int64]
    types: NDArray[np.int64]
    """Segment number of each id: 0 for the first text and its frame, 1 for the second."""
    first: slice
    """Where the sub-words of the first text stand."""
    cut: tuple[int, int]
    """Sub-words of each text that were left out."""
    skipped: int
    """How many of those of the first text stood at its start."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The special tokens around texts: `[CLS] a [SEP] b [SEP]`, or `<s> a </s></s> b </s>`."""

    start: int
    end: int
    double: bool

    @classmethod
    def of(cls, subwords: Subwords, model_type: str) -> Frame:
        start, end = subwords.frame
        return cls(start, end, model_type in DOUBLE)

    def put(self, first: Pieces, second: Pieces | None, limits: Limits, max_tokens: int) -> Framed:
        total = min(limits.total or max_tokens, max_tokens)
        middle = [] if second is None else [self.end] * (1 + self.double)
        a = _keep(first.ids, limits.first, limits.keep_first)
        b = np.empty(0, np.int64) if second is None else _keep(second.ids, limits.second, limits.keep_second)
        room = total - 2 - len(middle)
        last = [self.end] if limits.closed or len(a) + len(b) <= room else []
        size_a, size_b = shares(len(a), len(b), room + 1 - len(last), limits.strategy)
        a, b = _keep(a, size_a, limits.keep_first), _keep(b, size_b, limits.keep_second)
        ids = np.concatenate([[self.start], a, middle, b, last]).astype(np.int64)
        types = np.zeros(len(ids), np.int64)
        if second is not None:
            types[1 + len(a) + (2 if self.double else 1) :] = 1
        lost = (len(first) - len(a), 0 if second is None else len(second) - len(b))
        return Framed(ids, types, slice(1, 1 + len(a)), lost, lost[0] if limits.keep_first == "end" else 0)


def shares(first: int, second: int, room: int, strategy: str) -> tuple[int, int]:
    """How many sub-words each text may keep.

    `longest_first` takes one sub-word at a time from the longer text, from the second when both are as long (the rule
    of the library that the papers used); `only_second` never shortens the first unless it alone is too long.
    """
    over = first + second - room
    if over <= 0:
        return first, second
    if strategy == "only_second":
        return min(first, room), max(0, room - first)
    if strategy != "longest_first":
        raise ModelError(f"unknown truncation strategy {strategy!r}; write longest_first or only_second")
    if min(first, second) <= room // 2:
        return (first, room - first) if first < second else (room - second, second)
    return (room + 1) // 2, room // 2


def _keep(ids: NDArray[np.int64], size: int | None, which: str) -> NDArray[np.int64]:
    if size is None or len(ids) <= size:
        return ids
    return ids[:size] if which == "start" else ids[len(ids) - size :]
