"""Is each sentence, and each word, of an output backed by the document? The judge looks at sentences one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.score import Score, Span
from quintet.metrics.evaluator.reading import Output, read_output, weighted_mean
from quintet.metrics.evaluator.signal import Answers, Asking, JudgeSignal, Pair, clipped, log_odds
from quintet.metrics.evaluator.windows import MANY, USUAL, Size, Window, choose, document_windows, sentence_units
from quintet.metrics.evaluator.word_support import UNSUPPORTED, backed_words, mean_over_content
from quintet.models.roles import Judge
from quintet.text.tokens import Piece


@dataclass(frozen=True)
class Support(JudgeSignal):
    """Heads con and words, and entailment, on each sentence beside windows of the document; the best window counts."""

    window: Size = USUAL
    best: int = 2
    """Look only at the windows that share most with a sentence; 0: at all."""

    name = "evaluator-support"
    heads: ClassVar[tuple[str, ...]] = ("con",)
    dimensions = (
        log_odds("consistency", "Is each sentence consistent with the document?", "source"),
        Dimension("entailment", "Does the document entail each sentence?", ("source",)),
        Dimension("words", "Is each content word backed by the document?", ("source",)),
    )

    def _asking(self, judge: Judge, example: Example) -> Asking:
        output = read_output(example.output)
        units, lengths = sentence_units(judge, output)
        windows = self._windows(judge, example.source or "")
        pairs: list[list[Pair]] = [
            [(unit.text, (window.text,)) for window in choose(unit.text, windows, self.best)] for unit in units
        ]
        answers = yield [pair for own in pairs for pair in own]
        consistency = [max(answers[pair].heads["con"] for pair in own) for own in pairs]
        entailed = [max(float(answers[pair].entailment[0]) for pair in own) for own in pairs]
        words = list(_words(output, units, pairs, answers))
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

    def _windows(self, judge: Judge, source: str) -> Sequence[Window]:
        found = document_windows(judge, source, self.window)
        return found if self.best or len(found) <= MANY else document_windows(judge, source, "big")


def _words(
    output: Output, units: Sequence[Piece], pairs: Sequence[Sequence[Pair]], answers: Answers
) -> Iterator[tuple[Span, bool]]:
    """Each word with the probability that some window backs it (mean of its sub-words, marks aside); does it count?"""
    for unit, own in zip(units, pairs, strict=True):
        judged = [answers[pair] for pair in own]
        best: NDArray[np.float32] = np.max([judgement.words for judgement in judged], axis=0)
        for found in backed_words(unit.text, judged[0].starts, best):
            start, end = unit.start + found.word.start, unit.start + found.word.end
            yield output.span(start, end, found.value, "word", found.note), found.counts
