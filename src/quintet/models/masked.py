"""Masked likelihood whatever runs the model: which copies of a text go in, and where each answer belongs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quintet.models.batching import batches, once_each
from quintet.models.roles import EACH, Context, Masking, Mode, TokenLM, TokenScores, one_text
from quintet.models.subwords import MASK, Pieces, Subwords, windows

ONE_BY_ONE = 510
"""Tokens of a text that are masked in passes of their own: one window. That takes as many passes as tokens."""
AT_ONCE = 16
"""Of a longer text every sixteenth token of a window is masked in one pass, so that passes grow with the windows."""


@dataclass(frozen=True, slots=True, eq=False)
class Probe:
    """One input and the positions in it whose log-probability goes to `targets` of text number `text`."""

    ids: NDArray[np.int64]
    positions: NDArray[np.int64]
    answers: NDArray[np.int64]
    text: int
    targets: NDArray[np.int64]


def joined(context: Context, text: str) -> tuple[str, int]:
    """Both as one text, and the character after which tokens must end to be scored."""
    before = one_text(context)
    return (text, -1) if before is None else (before + text, len(before))


class MaskedLikelihood(TokenLM):
    """Which tokens a masked model is asked for; a backend runs the probes."""

    def __init__(self, subwords: Subwords, identity: str, max_tokens: int, budget: int) -> None:
        self.identity, self.max_tokens = identity, max_tokens
        self._subwords, self._budget = subwords, budget
        self._mask = subwords.id(*MASK)

    @abstractmethod
    def _run(self, probes: list[Probe]) -> Sequence[NDArray[np.float32]]:
        """For each probe the log-probabilities of its answers at its positions."""

    def _batches(self, probes: list[Probe]) -> list[list[int]]:
        """Which probes go through the model together."""
        return batches([len(probe.ids) for probe in probes], self._budget)

    def log_probs(self, pairs: Sequence[tuple[Context, str]], masking: Masking = EACH) -> list[TokenScores]:
        return once_each([joined(*pair) for pair in pairs], lambda distinct: self._log_probs(distinct, masking))

    def _log_probs(self, jobs: list[tuple[str, int]], masking: Masking) -> list[TokenScores]:
        texts = [text for text, _ in jobs]
        split = [self._subwords.split(text) for text in texts]
        mode, specials = masking.mode, masking.specials and masking.mode == "none"
        framed = [self._framed(text, pieces) for text, pieces in zip(texts, split, strict=True)]
        probes: list[Probe] = []
        scored, cuts = [], []
        for index, whole in enumerate(framed):
            seen, cut = self._seen(whole, masking)
            cuts.append(cut)
            scored.append(seen if specials else seen[1:-1])
            wanted = scored[-1].ends > jobs[index][1]
            probes += self._probes(index, seen, mode, specials, wanted)
        values = [np.zeros(len(pieces), np.float32) for pieces in scored]
        self._answer(probes, values)
        kept = [np.flatnonzero(pieces.ends > start) for pieces, (_, start) in zip(scored, jobs, strict=True)]
        return [
            TokenScores(text, pieces.starts[own], pieces.ends[own], found[own], cut)
            for text, pieces, found, own, cut in zip(texts, scored, values, kept, cuts, strict=True)
        ]

    def _framed(self, text: str, pieces: Pieces) -> Pieces:
        start, end = self._subwords.frame
        return Pieces(
            np.concatenate([[start], pieces.ids, [end]]),
            np.concatenate([[0], pieces.starts, [len(text)]]).astype(np.int32),
            np.concatenate([[0], pieces.ends, [len(text)]]).astype(np.int32),
        )

    def _seen(self, whole: Pieces, masking: Masking) -> tuple[Pieces, int]:
        """The ids that are looked at, and how many of the text are not."""
        if masking.last is not None:
            last = max(2, min(masking.last, self.max_tokens))
            lost = max(0, len(whole) - last)
            # The special token in front goes with the first cut; it is no token of the text.
            return whole[lost:], max(0, lost - 1)
        lost = max(0, len(whole) - self.max_tokens) if masking.long == "cut" else 0
        if lost:
            whole = whole[np.r_[0 : self.max_tokens - 1, len(whole) - 1]]
        return whole, lost

    def _probes(self, text: int, seen: Pieces, mode: Mode, specials: bool, wanted: NDArray[np.bool_]) -> list[Probe]:
        """Masked copies for the tokens that are `wanted`, or the windows as they are."""
        alone = np.count_nonzero(wanted) <= ONE_BY_ONE
        size = self.max_tokens - 2
        inner, start, end = seen.ids[1:-1], seen.ids[:1], seen.ids[-1:]
        probes = []
        for window in windows(len(inner), size, size // 4):
            ids = np.concatenate([start, inner[window.start : window.end], end])
            first, last = window.first, window.last
            if specials:
                # The frame is scored in the windows at either end of the text.
                first, last = first - (window.start == 0), last + (window.end == len(inner))
            positions = np.arange(first, last) - window.start + 1
            targets = np.arange(first, last) + specials
            if not wanted[targets].any():
                continue
            if mode == "none":
                probes.append(Probe(ids, positions, ids[positions], text, targets))
                continue
            positions, targets = positions[wanted[targets]], targets[wanted[targets]]
            copies = len(positions) if alone else min(AT_ONCE, len(positions))
            for turn in range(copies):
                at = positions[turn::copies]
                copy = ids.copy()
                copy[at] = self._mask
                probes.append(Probe(copy, at, ids[at], text, targets[turn::copies]))
        return [probe for probe in probes if len(probe.positions)]

    def _answer(self, probes: list[Probe], values: list[NDArray[np.float32]]) -> None:
        for batch in self._batches(probes):
            chosen = [probes[i] for i in batch]
            for probe, found in zip(chosen, self._run(chosen), strict=True):
                values[probe.text][probe.targets] = found
