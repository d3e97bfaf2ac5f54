"""What the judge says of an output by itself: does it read well, does it hang together, is its order right?"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from quintet.core.example import Example
from quintet.core.score import Score, Span, no_score
from quintet.metrics.evaluator.reading import read_output, weighted_mean
from quintet.metrics.evaluator.signal import Asking, JudgeSignal, clipped, log_odds, probability
from quintet.metrics.evaluator.windows import output_pieces, sentence_units
from quintet.models.roles import PairModel

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

    def _asking(self, judge: PairModel, example: Example) -> Asking:
        output = read_output(example.output)
        pieces, lengths = output_pieces(judge, output)
        units, _ = sentence_units(judge, output)
        answers = yield [(piece.text, ()) for piece in (*pieces, *units)]
        whole = weighted_mean([answers[piece.text, ()].logits["acc"] for piece in pieces], lengths)
        each = [answers[unit.text, ()].logits["acc"] for unit in units]
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

    def _asking(self, judge: PairModel, example: Example) -> Asking:
        pieces, lengths = output_pieces(judge, read_output(example.output))
        answers = yield [(piece.text, ()) for piece in pieces]
        value = weighted_mean([answers[piece.text, ()].logits["coh"] for piece in pieces], lengths)
        return {"coherence": Score(clipped(value))}


@dataclass(frozen=True)
class Order(JudgeSignal):
    """Head ord on each sentence and the next: in this order, or the other way?"""

    name = "evaluator-order"
    heads: ClassVar[tuple[str, ...]] = ("ord",)
    dimensions = (log_odds("order", "Are the sentences in a sensible order?"),)

    def _asking(self, judge: PairModel, example: Example) -> Asking:
        output = read_output(example.output)
        units, _ = sentence_units(judge, output)
        pairs = list(pairwise(units))
        answers = yield [(before.text, (after.text,)) for before, after in pairs]
        if not pairs:
            return {"order": no_score(ONE_SENTENCE)}
        each = [answers[before.text, (after.text,)].logits["ord"] for before, after in pairs]
        wrong = [(a, b, p) for (a, b), x in zip(pairs, each, strict=True) if (p := probability(x)) < SWAPPED]
        spans = tuple(
            Span(first.start, first.end, first.value, "pair", note="order", other=("output", second.start, second.end))
            for a, b, p in wrong
            for first, second in [(output.span(a.start, a.end, p, ""), output.span(b.start, b.end, p, ""))]
        )
        return {"order": Score(clipped(sum(each) / len(each)), spans)}
