"""How often a metric and people say the same of a word (CTC, section 4.4)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from quintet.core.score import Span
from quintet.data.benchmark import Benchmark
from quintet.errors import InputError

SUPPORTED = 0.5
"""A word whose span has at least this value counts as supported."""


@dataclass(frozen=True)
class WordAgreement:
    metric: str
    words: int
    accuracy: float
    """Share of words that both call supported, or both do not."""
    guess: float
    """The same of a metric that calls every word what most words are."""
    pearson: float
    """Of the metric's scores with the set's ratings, over all outputs."""


def compared(benchmark: Benchmark, spans: Iterable[Sequence[Span]]) -> tuple[int, float, float]:
    """Number of words, accuracy and the best constant guess; only words that a span of the output covers count."""
    if not benchmark.unsupported:
        raise InputError("people marked no words in it", benchmark.name, "name xsum_faith")
    same = wrong = words = 0
    for example, marked, found in zip(benchmark.examples, benchmark.unsupported, spans, strict=True):
        people = set(marked)
        own = [span for span in found if span.field == "output"]
        for match in re.finditer(r"\S+", example.output):
            start, end = match.span()
            values = [span.value for span in own if span.start < end and start < span.end]
            if values:
                words += 1
                wrong += (start, end) in people
                same += (min(values) < SUPPORTED) == ((start, end) in people)
    if not words:
        raise InputError("the metric says nothing of single words", benchmark.name, "try ctc-consistency:aligner=D")
    return words, same / words, max(wrong, words - wrong) / words
