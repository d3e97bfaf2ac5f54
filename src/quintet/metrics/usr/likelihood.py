"""USR-MLM: how likely a masked language model of dialogue finds the response (USR section 4.2.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import CHARACTERS_PER_SUBWORD, Row
from quintet.core.score import EMPTY_OUTPUT, Score, Span
from quintet.metrics.role_metric import BLIND_GUESS, RoleMetric, cut_of
from quintet.metrics.usr.inputs import MLM_MODEL, Mode, masked_line
from quintet.models.masked import AT_ONCE, ONE_BY_ONE
from quintet.models.roles import Masking, TokenScores
from quintet.text.tokens import whitespace_words

NO_HISTORY = "no history"
GROUPED = f"long: every {AT_ONCE}th sub-word of a window was masked at once"
_WINDOW_WORK = 512 * AT_ONCE / 384
"""Sub-words read for one of a long text: copies of a window of 512 for the 384 that it speaks for."""


@dataclass(frozen=True)
class MaskedLikelihood(RoleMetric):
    model: str = MLM_MODEL
    mode: Mode = "quintet"
    """quintet: mean over the response's sub-words. paper: their sum. released: mean over the last `window` ids,
    context included. dialeval: the same on DialEvalMetrics' context."""
    window: int = 100
    """Ids that the released code looks at, special tokens included."""

    name = "usr-mlm"
    version = 3
    """2: the released strings. 3: of more than 510 sub-words several are masked at once."""
    paper = "Mehri & Eskenazi 2020"
    model_role = "masked-lm"
    dimensions = (
        Dimension(
            "likelihood", "Is this a likely response to the last turn?", ("history",), low=-float("inf"), high=0.0
        ),
    )

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        lines = [masked_line(example, self.mode) for example in examples]
        if self.mode in ("released", "dialeval"):
            found = self.opened().log_probs([(None, line) for line, _, _ in lines], Masking(last=self.window))
        else:
            found = self.opened().log_probs([(line[:start], line[start:]) for line, start, _ in lines])
        return [
            {"likelihood": self._one(example, scores, start, end)}
            for example, scores, (_, start, end) in zip(examples, found, lines, strict=True)
        ]

    def work(self, example: Example) -> int:
        own = len(example.output) // CHARACTERS_PER_SUBWORD + 1
        if self.mode in ("released", "dialeval"):
            return min(own, self.window) * self.window
        read = own + len(example.text("history")) // CHARACTERS_PER_SUBWORD
        return int(own * (min(read, ONE_BY_ONE) if own <= ONE_BY_ONE else _WINDOW_WORK))

    def _one(self, example: Example, scores: TokenScores, start: int, end: int) -> Score:
        flags: tuple[str, ...] = () if example.history else (NO_HISTORY,)
        # The released window keeps the end of the line, so a long response loses its start with the history.
        lost = "history and output" if len(scores.starts) and scores.starts[0] > start else "history"
        cut = cut_of(**{lost: scores.cut})
        own = in_stretch(scores, start, end)
        counted = scores.log_probs if self.mode in ("released", "dialeval") else scores.log_probs[own]
        if not len(counted):
            return Score(BLIND_GUESS, flags=(*flags, "no sub-words"), cut=cut)
        if len(counted) > ONE_BY_ONE:
            flags = (*flags, GROUPED)
        total = float(counted.sum(dtype=np.float64))
        value = total if self.mode == "paper" else total / len(counted)
        spans = _word_spans(example.output, scores, start) if self.mode == "quintet" else ()
        return Score(min(value, 0.0), spans, {"sum": total, "sub-words": float(len(counted))}, flags, cut)

    def _score_empty(self, example: Example) -> Row:
        return {"likelihood": Score(BLIND_GUESS, flags=(EMPTY_OUTPUT,))}


def in_stretch(scores: TokenScores, start: int, end: int) -> np.ndarray:
    """Which sub-words end inside `start:end`; a blank that is a sub-word of its own has no width."""
    return (scores.ends > start) & (scores.ends <= end)


def _word_spans(output: str, scores: TokenScores, offset: int) -> tuple[Span, ...]:
    """Evidence: the log-probability of each white-space word, its sub-words added up."""
    spans = []
    for word in whitespace_words(output):
        own = in_stretch(scores, offset + word.start, offset + word.end)
        if own.any():
            spans.append(Span(word.start, word.end, round(float(scores.log_probs[own].sum()), 4)))
    return tuple(spans)
