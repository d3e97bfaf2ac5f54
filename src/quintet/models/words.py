"""White-space words and the sub-words that make them up."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from quintet.models.subwords import Pieces

_WORD = re.compile(r"\S+")

Spans = list[tuple[int, int]]


def words_of(text: str, pieces: Pieces, ends_early: bool = False) -> tuple[Spans, NDArray[np.int64]]:
    """The words of the part that `pieces` cover, and for each sub-word the number of its word (-1: none).

    `ends_early`: sub-words of the text follow that are not among `pieces`, so the last word may not be whole.
    """
    words = [match.span() for match in _WORD.finditer(text)]
    starts = np.array([start for start, _ in words], np.int64)
    owner = np.full(len(pieces), -1, np.int64)
    bounds = list(zip(pieces.starts.tolist(), pieces.ends.tolist(), strict=True))
    for index, (start, end) in enumerate(bounds):
        # Sub-words may begin with the space before their word; a space alone (`▁`) belongs to the word after it.
        alone = text[start:end] == " " and index + 1 < len(bounds) and bounds[index + 1][0] == end
        visible = _WORD.search(text, start, max(end, start + 1) + alone)
        if visible is not None:
            owner[index] = np.searchsorted(starts, visible.start(), "right") - 1
    used = sorted(set(owner[owner >= 0].tolist()))
    renumbered = {old: new for new, old in enumerate(used)}
    spans = [words[old] for old in used]
    if ends_early and spans:
        # The cut may run through a word: it ends where its last sub-word does.
        spans[-1] = (spans[-1][0], int(pieces.ends[owner == used[-1]].max()))
    return spans, np.array([renumbered.get(old, -1) for old in owner.tolist()], np.int64)
