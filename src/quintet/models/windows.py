"""Overlapping windows over a long sequence, and which window speaks for which position."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class Window:
    start: int
    end: int
    first: int
    """The positions this window speaks for are first … last - 1: those nearer to its centre than to any other's."""
    last: int


def windows(length: int, size: int, overlap: int) -> list[Window]:
    """Windows of `size` (one shorter one if all fits) that cover 0 … length - 1; the last is moved back to the end."""
    if length <= size:
        return [Window(0, length, 0, length)]
    stride = size - overlap
    starts = [*range(0, length - size, stride), length - size]
    # Windows are of one size, so half way between two centres is half way through the overlap; ties go to the left.
    borders = [0, *((right + left + size + 1) // 2 for left, right in pairwise(starts)), length]
    return [Window(s, s + size, a, b) for s, a, b in zip(starts, borders[:-1], borders[1:], strict=True)]
