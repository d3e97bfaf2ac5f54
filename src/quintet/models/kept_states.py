"""A memory of keys and values, bounded by their bytes, the least recently used out first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

Kept = TypeVar("Kept")


class KeptStates(Generic[Kept]):
    """By the ids they belong to; `size` says their bytes. The latest is kept however large it is."""

    def __init__(self, limit: int, size: Callable[[Kept], int]) -> None:
        self._limit, self._size = limit, size
        self._kept: OrderedDict[bytes, Kept] = OrderedDict()
        self.bytes = 0

    def get(self, key: bytes) -> Kept | None:
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
        return found

    def put(self, key: bytes, states: Kept) -> None:
        before = self._kept.pop(key, None)
        self.bytes += self._size(states) - (0 if before is None else self._size(before))
        self._kept[key] = states
        while self.bytes > self._limit and len(self._kept) > 1:
            self.bytes -= self._size(self._kept.popitem(last=False)[1])

    def clear(self) -> None:
        self._kept.clear()
        self.bytes = 0
