"""What the judge says of an output by itself: does it read well, does it hang together, is its order right?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from quintet.core.example import Example
from quintet.core.score import Score, Span, no_score
from quintet.metrics.evaluator.reading import Output, read_output, weighted_mean
from quintet.metrics.evaluator.signal import Asking, JudgeSignal, clipped, log_odds, probability
from quintet.metrics.evaluator.windows import BIG, output_pieces, sentence_units
from quintet.models.roles import Judge
from quintet.text.tokens import Piece

READS_BADLY = SWAPPED = 0.5
"""Sentences less acceptable than this are pointed at, and neighbours less likely in their order."""
ONE_SENTENCE = "no second sentence"


@dataclass(frozen=True)
class Acceptability(JudgeSignal):
    """Head acc, trained to tell sentences as written from ones with realistic errors and from CoLA's bad ones."""

    name = "evaluator-acceptability"
    heads: ClassVar[tuple[str, ...]] = ("acc",)
    dimensions = (
        log_odds("whole", "Is the output acceptable English as a whole?"),
        log_odds("mean", "Are its sentences acceptable English, on average?"),
        log_odds("lowest", "Is its worst sentence acceptable English?"),
    )

    def _asking(self, judge: Judge, example: Example) -> Asking:
        output = read_output(example.output)
        pieces, lengths = output_pieces(judge, output)
        units, _ = sentence_units(judge, output)
        answers = yield [(piece.text, ()) for piece in (*pieces, *units)]
        whole = weighted_mean([answers[piece.text, ()].heads["acc"] for piece in pieces], lengths)
        each = [answers[unit.text, ()].heads["acc"] for unit in units]
        weak = [(u, p) for u, logit in zip(units, each, strict=True) if (p := probability(logit)) < READS_BADLY]
        spans = tuple(output.span(u.start, u.end, p, "sentence", "reads badly") for u, p in weak)
        return {
            "whole": Score(clipped(whole), spans),
            "mean": Score(clipped(sum(each) / len(each)), spans),
            "lowest": Score(clipped(min(each)), spans),
        }


@dataclass(frozen=True)
class Flow(JudgeSignal):
    """Head coh: a text as written, or its sentences shuffled, repeated or swapped with those of another."""

    name = "evaluator-flow"
    heads: ClassVar[tuple[str, ...]] = ("coh",)
    dimensions = (log_odds("coherence", "Does the output hang together?"),)

    def _asking(self, judge: Judge, example: Example) -> Asking:
        pieces, lengths = output_pieces(judge, read_output(example.output))
        answers = yield [(piece.text, ()) for piece in pieces]
        value = weighted_mean([answers[piece.text, ()].heads["coh"] for piece in pieces], lengths)
        return {"coherence": Score(clipped(value))}


@dataclass(frozen=True)
class Order(JudgeSignal):
    """Head ord at every place between two sentences: what stands before it, then what follows, or the other way?"""

    name = "evaluator-order"
    heads: ClassVar[tuple[str, ...]] = ("ord",)
    dimensions = (log_odds("order", "Are the sentences in a sensible order?"),)

    def _asking(self, judge: Judge, example: Example) -> Asking:
        output = read_output(example.output)
        units, lengths = sentence_units(judge, output)
        splits = [_around(output, units, lengths, at, judge.longest_output) for at in range(1, len(units))]
        answers = yield [(before, (after,)) for before, after in splits]
        if not splits:
            return {"order": no_score(ONE_SENTENCE)}
        each = [answers[before, (after,)].heads["ord"] for before, after in splits]
        wrong = [(a, b, p) for (a, b), x in zip(pairwise(units), each, strict=True) if (p := probability(x)) < SWAPPED]
        spans = tuple(
            Span(first.start, first.end, first.value, "pair", note="order", other=("output", second.start, second.end))
            for a, b, p in wrong
            for first, second in [(output.span(a.start, a.end, p, ""), output.span(b.start, b.end, p, ""))]
        )
        return {"order": Score(clipped(sum(each) / len(each)), spans)}


def _around(output: Output, units: Sequence[Piece], lengths: Sequence[int], at: int, room: int) -> tuple[str, str]:
    """As many whole sentences before and after a place as the judge can take."""
    first, last = at - 1, at + 1
    while first > 0 and sum(lengths[first - 1 : at]) <= room:
        first -= 1
    while last < len(units) and sum(lengths[at : last + 1]) <= BIG:
        last += 1
    text = output.text
    return text[units[first].start : units[at - 1].end], text[units[at].start : units[last - 1].end]
