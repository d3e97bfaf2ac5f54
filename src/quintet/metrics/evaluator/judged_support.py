"""Is each sentence, and each word, of an output backed by the document? The judge looks at sentences one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.score import Score, Span
from quintet.metrics.evaluator.reading import Output, read_output, weighted_mean
from quintet.metrics.evaluator.signal import Asking, JudgeSignal, Pair, clipped, log_odds
from quintet.metrics.evaluator.windows import MANY, USUAL, Size, Window, choose, document_windows, sentence_units
from quintet.metrics.evaluator.word_support import UNSUPPORTED, backed_words, mean_over_content
from quintet.models.roles import PairModel, PairScore
from quintet.text.tokens import Piece


@dataclass(frozen=True)
class Support(JudgeSignal):
    """Heads con and words, and entailment, on each sentence beside windows of the document; the best window counts."""

    window: Literal["small", "big", "both"] = USUAL
    """`both`: the mean of what the judge says beside big windows and beside small ones."""
    best: int = 2
    """Look only at the windows that share most with a sentence; 0: at all."""

    name = "evaluator-support"
    heads: ClassVar[tuple[str, ...]] = ("con",)
    dimensions = (
        log_odds("consistency", "Is each sentence consistent with the document?", "source"),
        Dimension("entailment", "Does the document entail each sentence?", ("source",)),
        Dimension("words", "Is each content word backed by the document?", ("source",)),
    )

    def _asking(self, judge: PairModel, example: Example) -> Asking:
        output = read_output(example.output)
        units, lengths = sentence_units(judge, output)
        beside = [self._beside(judge, example.source or "", unit) for unit in units]
        answers = yield [pair for views in beside for own in views for pair in own]
        judged = [[[answers[pair] for pair in own] for own in views] for views in beside]
        consistency = [_mean_of_best(views, lambda one: one.logits["con"]) for views in judged]
        entailed = [_mean_of_best(views, lambda one: float(one.entailment[0])) for views in judged]
        words = list(_words(output, units, judged))
        sentences = [
            output.span(unit.start, unit.end, p, "sentence", "not entailed")
            for unit, p in zip(units, entailed, strict=True)
            if p < UNSUPPORTED
        ]
        spans = (*(span for span, _ in words), *sentences)
        return {
            "consistency": Score(clipped(weighted_mean(consistency, lengths)), spans),
            "entailment": Score(min(1.0, sum(entailed) / len(entailed)), spans),
            "words": Score(mean_over_content([(span.value, counts) for span, counts in words]), spans),
        }

    def _beside(self, judge: PairModel, source: str, unit: Piece) -> list[list[Pair]]:
        """For each size of windows the pairs that are judged, of which the best counts."""
        sizes: tuple[Size, ...] = ("big", "small") if self.window == "both" else (self.window,)
        return [
            [(unit.text, (window.text,)) for window in choose(unit.text, self._windows(judge, source, size), self.best)]
            for size in sizes
        ]

    def _windows(self, judge: PairModel, source: str, size: Size) -> Sequence[Window]:
        found = document_windows(judge, source, size)
        return found if self.best or len(found) <= MANY else document_windows(judge, source, "big")


def _mean_of_best(views: Sequence[Sequence[PairScore]], value: Callable[[PairScore], float]) -> float:
    return sum(max(map(value, view)) for view in views) / len(views)


def _words(
    output: Output, units: Sequence[Piece], judged: Sequence[Sequence[Sequence[PairScore]]]
) -> Iterator[tuple[Span, bool]]:
    """Each word with the probability that some window backs it (mean of its sub-words, marks aside); does it count?"""
    for unit, views in zip(units, judged, strict=True):
        best = [np.max([one.support for one in view], axis=0) for view in views]
        values: NDArray[np.float32] = np.mean(best, axis=0)
        for found in backed_words(unit.text, views[0][0].starts, values):
            start, end = unit.start + found.word.start, unit.start + found.word.end
            span = output.span(start, end, found.value, "word", found.note)
            yield replace(span, p_supported=span.value), found.counts
