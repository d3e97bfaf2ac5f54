"""Signals that need no model: words shared with the document or the fact, and how much an output says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Row
from quintet.core.score import Score
from quintet.metrics.evaluator.rarity import word_table
from quintet.metrics.evaluator.reading import fact_of, memory, read_document, read_output
from quintet.metrics.evaluator.signal import EvaluatorSignal
from quintet.text.content_words import content_words, plain_words
from quintet.text.ngrams import ngrams


@dataclass(frozen=True)
class Overlap(EvaluatorSignal):
    name = "evaluator-overlap"
    dimensions = (Dimension("bigrams", "Do the output's pairs of words stand in the document?", ("source",)),)

    def _signals(self, examples: Sequence[Example]) -> list[Row]:
        return [{"bigrams": Score(_shared_bigrams(example))} for example in examples]


def _shared_bigrams(example: Example) -> float:
    own = ngrams(plain_words(read_output(example.output).text), 2)
    source = example.source or ""
    there = memory.once(("bigrams", source), lambda: set(ngrams(plain_words(" ".join(read_document(source))), 2)))
    return sum(pair in there for pair in own) / len(own) if own else 0.0


@dataclass(frozen=True)
class Information(EvaluatorSignal):
    """The sum of idf over the distinct content words, and ln(1 + sum): what is said beyond the usual counts less."""

    name = "evaluator-information"
    dimensions = (
        Dimension("information", "How much does the output say, by the rarity of its words?", high=None),
        Dimension("log", "How much does it say, on a scale that flattens?", high=None),
    )

    def _signals(self, examples: Sequence[Example]) -> list[Row]:
        found = [word_table().information(read_output(example.output).text) for example in examples]
        return [{"information": Score(value), "log": Score(math.log1p(value))} for value in found]


@dataclass(frozen=True)
class FactWords(EvaluatorSignal):
    """The sum of idf over the distinct content words that output and fact share."""

    name = "evaluator-fact-words"
    dimensions = (Dimension("shared", "How much of the fact does the output name?", ("context",), high=None),)

    def _signals(self, examples: Sequence[Example]) -> list[Row]:
        return [{"shared": Score(_shared_with_fact(example))} for example in examples]


def _shared_with_fact(example: Example) -> float:
    own = set(content_words(read_output(example.output).text))
    return word_table().weight(own & set(content_words(fact_of(example))))
