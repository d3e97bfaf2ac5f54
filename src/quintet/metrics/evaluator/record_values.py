"""Are the values of a record said? Counted by words, without a model: the complement of a slot error rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Row
from quintet.core.score import Score, Span, no_score
from quintet.metrics.evaluator.reading import read_output
from quintet.metrics.evaluator.signal import EvaluatorSignal
from quintet.text.content_words import STOP, plain_words
from quintet.text.meaning import Value, record_values
from quintet.text.porter import stem

_SAID_BY_THE_SLOT = frozenset({"", "yes", "no", "true", "false", "none", "dont_care", "dontcare", "?"})
"""Values that an utterance says by naming the slot: `kidsallowed=no` is «no kids allowed»."""
_UNSAID = 0.5
_SHORTEST = 3
"""Letters of a word that may stand for a slot whose name is written as one (`goodformeal`)."""


@dataclass(frozen=True)
class RecordValues(EvaluatorSignal):
    """Mean over the values of the share of their words that the output has, by stem."""

    name = "evaluator-record-values"
    dimensions = (Dimension("said", "Does the output say the values of the record?", ("source",)),)

    def _signals(self, examples: Sequence[Example]) -> list[Row]:
        return [{"said": _said(example)} for example in examples]


def _said(example: Example) -> Score:
    values = record_values(example.source or "")
    if not values:
        return no_score("no values in source")
    own = {stem(word) for word in plain_words(read_output(example.output).text)}
    shares = [_share(value, own) for value in values]
    spans = tuple(
        Span(value.start, value.end, round(share, 4), "word", "source", "not said")
        for value, share in zip(values, shares, strict=True)
        if share < _UNSAID
    )
    return Score(sum(shares) / len(shares), spans)


def _share(value: Value, own: set[str]) -> float:
    words = plain_words(value.text.replace("_", " "))
    if value.text.strip().lower() in _SAID_BY_THE_SLOT or not words:
        slot = "".join(plain_words(value.slot))
        return float(any(len(word) >= _SHORTEST and word not in STOP and word in slot for word in own))
    return sum(stem(word) in own for word in words) / len(words)
