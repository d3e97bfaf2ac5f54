"""Items in a row taken together: windows of a text."""

from __future__ import annotations

from collections.abc import Sequence


def overlapping_runs(lengths: Sequence[int], size: int, shared: int) -> list[tuple[int, int]]:
    """Runs of items of at most `size` in sum; a run starts so that it shares at most `shared` with the one before."""
    runs: list[tuple[int, int]] = []
    start = 0
    while start < len(lengths):
        end, total = start, 0
        while end < len(lengths) and (end == start or total + lengths[end] <= size):
            total += lengths[end]
            end += 1
        runs.append((start, end))
        if end >= len(lengths):
            break
        back, overlap = end, 0
        while back - 1 > start and overlap + lengths[back - 1] <= shared:
            back -= 1
            overlap += lengths[back]
        while back < end and overlap + lengths[end] > size:
            # What is shared must leave room for something new.
            overlap -= lengths[back]
            back += 1
        start = back
    return runs
