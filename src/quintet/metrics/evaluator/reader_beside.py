"""What a language model with heads says of an output alone, or after its dialogue, record, input or references.

As in `reader`; each is asked in the form of a likelihood that is there already, and where both are wanted, one pass
gives both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from quintet.core.example import Example
from quintet.metrics.evaluator.likelihood import Given, Grounds, after_document
from quintet.metrics.evaluator.reader import HeadSignal
from quintet.metrics.evaluator.reading import references_of
from quintet.metrics.evaluator.signal import log_odds


@dataclass(frozen=True)
class AloneReader(HeadSignal):
    """After `TL;DR:` alone, which is what a gain by the document is counted from."""

    name = "evaluator-reader-alone"
    given: ClassVar[Given] = "nothing"
    heads: ClassVar[tuple[str, ...]] = ("acc", "coh")
    dimensions = (
        log_odds("acceptability", "Is the output acceptable English, as the language model reads it?"),
        log_odds("flow", "Does the output hang together, as the language model reads it?"),
    )


@dataclass(frozen=True)
class DialogueReader(HeadSignal):
    """After the fact and the last turns; each question needs only one of them."""

    name = "evaluator-reader-dialogue"
    given: ClassVar[Given] = "dialogue"
    heads: ClassVar[tuple[str, ...]] = ("sel", "gro")
    dimensions = (
        log_odds("selection", "Is this the response to these turns, as the language model reads it?", "history"),
        log_odds("grounding", "Does the output use the fact, as the language model reads it?", "context"),
    )


@dataclass(frozen=True)
class RecordReader(HeadSignal):
    """After the record, as it stands."""

    name = "evaluator-reader-record"
    given: ClassVar[Given] = "record"
    heads: ClassVar[tuple[str, ...]] = ("d2t",)
    dimensions = (
        log_odds("content", "Does the output say what the record says, as the language model reads it?", "source"),
    )


@dataclass(frozen=True)
class InputReader(HeadSignal):
    """A rewrite after its input, which stands where a document does."""

    name = "evaluator-reader-input"
    heads: ClassVar[tuple[str, ...]] = ("adq",)
    dimensions = (
        log_odds("adequacy", "Do output and input mean the same, as the language model reads them?", "source"),
    )


@dataclass(frozen=True)
class ReferenceReader(HeadSignal):
    """After each reference, which stands where a document does; mean over references."""

    name = "evaluator-reader-reference"
    heads: ClassVar[tuple[str, ...]] = ("adq",)
    dimensions = (
        log_odds("adequacy", "Do output and references mean the same, as the language model reads them?", "references"),
    )

    def grounds(self, example: Example) -> Sequence[Grounds]:
        return [after_document(reference) for reference in references_of(example)]
