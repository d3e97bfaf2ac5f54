"""What a language model with heads says of an output that it has just read after what the output was made from.

The pass is the one that gives a likelihood (`likelihood`), and so is the window that counts of grounds too long for the
model: the one that makes the output likeliest. An output read in pieces is their mean, by length.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Row
from quintet.core.score import Score, Span, no_score
from quintet.errors import ModelError
from quintet.metrics.evaluator.likelihood import Given, Grounds, LanguageSignal, grounds_of
from quintet.metrics.evaluator.reading import Output, read_output, weighted_mean
from quintet.metrics.evaluator.signal import clipped, log_odds
from quintet.metrics.evaluator.word_support import Backed, backed_words, mean_over_content
from quintet.metrics.role_metric import cut_of
from quintet.models.lm_heads import ENTAILMENT, WORDS
from quintet.models.open import open_model
from quintet.models.roles import PairScore, TokenScores

_DOUBTS, _TRUSTS = ("con", ENTAILMENT, WORDS), ("gro",)
"""Heads whose evidence are words without support, and those whose evidence are content words that have it."""


@dataclass(frozen=True)
class HeadSignal(LanguageSignal):
    """Heads of the language model, one for each dimension."""

    heads: ClassVar[tuple[str, ...]] = ()
    given: ClassVar[Given] = "document"

    def prepare(self) -> None:
        self._taught()

    def _taught(self) -> tuple[str, ...]:
        """The heads that can be asked; a dimension whose head is not among them has no score."""
        model = open_model(self.model, self.model_role)
        taught: tuple[str, ...] = getattr(model, "taught", ())
        if not taught:
            raise ModelError(f"{model.identity} has no heads that judge what it reads, which {self.name} asks for")
        if not set(self.heads) & set(taught):
            asked = f"the head {self.heads[0]!r}" if len(self.heads) == 1 else f"any of {', '.join(self.heads)}"
            raise ModelError(f"{model.identity} was not taught {asked}, which {self.name} asks for")
        return taught

    def grounds(self, example: Example) -> Sequence[Grounds]:
        """What the output is read after; several are read one by one, and their mean is the score."""
        return (grounds_of(example, self.given),)

    def _signals(self, examples: Sequence[Example]) -> list[Row]:
        taught = self._taught()
        outputs = [read_output(example.output) for example in examples]
        grounds = [self.grounds(example) for example in examples]
        read = iter(self.read([(one, o.text) for o, own in zip(outputs, grounds, strict=True) for one in own]))
        return [
            self._row(taught, [_Reading(output, next(read)) for _ in own])
            for output, own in zip(outputs, grounds, strict=True)
        ]

    def _row(self, taught: Sequence[str], readings: Sequence[_Reading]) -> Row:
        cut = max(part.cut for reading in readings for part in reading.parts)
        row: dict[str, Score] = {}
        for dimension, head in zip(self.dimensions, self.heads, strict=True):
            if head not in taught:
                row[dimension.name] = no_score(f"no head {head!r} in the language model")
                continue
            values = [reading.value(head) for reading in readings]
            spans = readings[0].spans(head) if WORDS in taught and head in (*_DOUBTS, *_TRUSTS) else ()
            field = (*dimension.needs, "output")[0]
            row[dimension.name] = Score(sum(values) / len(values), spans, cut=cut_of(**{field: cut}))
        return row


@dataclass(frozen=True)
class Reader(HeadSignal):
    """The output after its document."""

    name = "evaluator-reader"
    heads: ClassVar[tuple[str, ...]] = ("con", ENTAILMENT, WORDS, "cohd", "rel", "cov")
    dimensions = (
        log_odds(
            "consistency", "Is the output consistent with the document, as the language model reads it?", "source"
        ),
        Dimension("entailment", "Does the document entail the output, as the language model reads it?", ("source",)),
        Dimension("words", "Is each content word backed by the document, as the language model reads it?", ("source",)),
        log_odds("coherence", "Is it a coherent summary of the document, as the language model reads it?", "source"),
        log_odds("relevance", "Does it say what matters in the document, as the language model reads it?", "source"),
        log_odds("coverage", "Does it cover the document, as the language model reads it?", "source"),
    )


@dataclass(frozen=True, eq=False)
class _Reading:
    """An output after its grounds, as the model read it: whole or in pieces."""

    output: Output
    parts: Sequence[TokenScores]

    @cached_property
    def words(self) -> list[tuple[int, Backed]]:
        return list(_words(self.output, self.parts))

    def value(self, head: str) -> float:
        if head == WORDS:
            return mean_over_content([(found.value, found.counts) for _, found in self.words])
        judged = [_judgement(part) for part in self.parts]
        lengths = [len(part) for part in self.parts]
        if head == ENTAILMENT:
            return min(1.0, weighted_mean([float(one.entailment[0]) for one in judged], lengths))
        return clipped(weighted_mean([one.logits[head] for one in judged], lengths))

    def spans(self, head: str) -> tuple[Span, ...]:
        return tuple(
            replace(span, p_supported=span.value)
            for start, found in self.words
            if (note := _note(head, found))
            for span in [self.output.span(start + found.word.start, start + found.word.end, found.value, "word", note)]
        )


def _note(head: str, found: Backed) -> str:
    """What the evidence says of a word; empty: it is not pointed at."""
    if head in _DOUBTS:
        return found.note
    return "supported" if found.counts and not found.note else ""


def _words(output: Output, parts: Sequence[TokenScores]) -> Iterator[tuple[int, Backed]]:
    """Each word with the place where its piece of the output begins."""
    end = 0
    for part in parts:
        # The text that the model read has a blank before it; pieces follow one another.
        text = part.text[1:]
        start = output.text.index(text, end)
        end = start + len(text)
        for found in backed_words(text, _visible_starts(part) - 1, _judgement(part).support):
            yield start, found


def _visible_starts(part: TokenScores) -> NDArray[np.int32]:
    """The first character of each sub-word that is no blank; 0, which is the blank before the text, if all are."""
    blanks = [len(piece) - len(piece.lstrip()) for piece in map(part.token, range(len(part)))]
    starts = part.starts + np.array(blanks, np.int32)
    return np.where(starts < part.ends, starts, np.int32(0))


def _judgement(part: TokenScores) -> PairScore:
    if part.judgement is None:
        raise ModelError("a language model with heads gave no judgement; this is a bug")
    return part.judgement
