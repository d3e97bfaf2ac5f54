"""Texts that do not fit a model, read in slices. The metric does not know how a model counts: it slices by characters
at word boundaries, looks at what the model reports as cut, and slices finer until nothing is lost."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Generic, TypeVar

Result = TypeVar("Result")
Texts = tuple[str, ...]

_WORD = re.compile(r"\S+")
_CHARACTERS_PER_TOKEN = 3.8
"""English runs at four to five; a little less saves second tries."""
_SURELY_TOO_LONG = 9.0
_FINER = 0.75
_SHORTEST = 24
"""Characters below which slicing ends; what is still cut then is reported."""


@dataclass(frozen=True, slots=True)
class Slice:
    """text[start:end]; it speaks for what begins at `first` or later and before `last`."""

    start: int
    end: int
    first: int
    last: int


@dataclass(frozen=True)
class Sliced(Generic[Result]):
    """How texts were read: slices of each, and one result per combination, the last text running fastest."""

    slices: tuple[tuple[Slice, ...], ...]
    results: tuple[Result, ...]

    def by_first(self) -> list[tuple[Slice, tuple[Result, ...]]]:
        """The results for each slice of the first text."""
        own = self.slices[0]
        share = len(self.results) // len(own)
        return [(one, self.results[i * share : (i + 1) * share]) for i, one in enumerate(own)]


def slices(text: str, size: int, overlap: bool) -> tuple[Slice, ...]:
    """Runs of words of at most `size` characters, by a quarter overlapping or not at all; at least one."""
    if len(text) <= size:
        return (Slice(0, len(text), 0, len(text)),)
    words = [
        (begin, min(begin + size, match.end()))
        for match in _WORD.finditer(text)
        for begin in range(match.start(), match.end(), size)
    ] or [(0, 0)]
    runs = [(0, _fill(words, 0, size))]
    while runs[-1][1] < len(words):
        begin, end = runs[-1]
        start = end
        while overlap and start > begin + 1 and words[end - 1][1] - words[start - 1][0] <= size // 4:
            start -= 1
        if _fill(words, start, size) <= end:
            start = end
        runs.append((start, _fill(words, start, size)))
    # Where two runs overlap, the one in which a word stands further from the edge speaks for it.
    turns = [(following[0] + run[1] + 1) // 2 for run, following in pairwise(runs)]
    places = [0, *(words[turn][0] for turn in turns), len(text)]
    return tuple(
        Slice(words[begin][0], words[end - 1][1], places[i], places[i + 1]) for i, (begin, end) in enumerate(runs)
    )


def _fill(words: Sequence[tuple[int, int]], begin: int, size: int) -> int:
    end = begin + 1
    while end < len(words) and words[end][1] - words[begin][0] <= size:
        end += 1
    return end


def in_slices(
    jobs: Sequence[Texts],
    run: Callable[[list[Texts]], Sequence[Result]],
    lost: Callable[[Result], int],
    max_tokens: int,
    overlap: tuple[bool, ...],
) -> list[Sliced[Result]]:
    """Runs jobs of one or more texts; where `lost` says that something was cut, the longest texts are sliced finer.

    `overlap` says for each text whether its slices overlap.
    """
    sizes = {i: _first_sizes(job, max_tokens) for i, job in enumerate(jobs)}
    done: dict[int, Sliced[Result]] = {}
    while len(done) < len(jobs):
        open_jobs = [i for i in range(len(jobs)) if i not in done]
        cuts = {
            i: tuple(slices(text, size, lap) for text, size, lap in zip(jobs[i], sizes[i], overlap, strict=True))
            for i in open_jobs
        }
        inputs = [_parts(jobs[i], chosen) for i in open_jobs for chosen in product(*cuts[i])]
        found = iter(run(inputs))
        for i in open_jobs:
            count = 1
            for own in cuts[i]:
                count *= len(own)
            results = tuple(next(found) for _ in range(count))
            if not any(lost(result) for result in results) or max(sizes[i]) <= _SHORTEST:
                done[i] = Sliced(cuts[i], results)
            else:
                sizes[i] = _finer(sizes[i], max_tokens)
    return [done[i] for i in range(len(jobs))]


def _parts(texts: Texts, chosen: Sequence[Slice]) -> Texts:
    return tuple(text[one.start : one.end] for text, one in zip(texts, chosen, strict=True))


def _first_sizes(texts: Texts, max_tokens: int) -> tuple[int, ...]:
    """Whole texts, unless they are so long that trying would be a waste."""
    sizes = tuple(max(1, len(text)) for text in texts)
    return sizes if sum(sizes) <= max_tokens * _SURELY_TOO_LONG else _finer(sizes, max_tokens)


def _finer(sizes: tuple[int, ...], max_tokens: int) -> tuple[int, ...]:
    """The longest give way until the sum is small enough; short texts stay whole."""
    target = min(sum(sizes) * _FINER, max_tokens * _CHARACTERS_PER_TOKEN)
    cap, left = target, len(sizes)
    for size in sorted(sizes):
        if size * left >= cap:
            break
        cap, left = cap - size, left - 1
    return tuple(min(size, max(_SHORTEST, int(cap / max(1, left)))) for size in sizes)
