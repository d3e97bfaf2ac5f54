"""What a language model with heads says of an output that it has just read after its document.

The pass is the one that gives the likelihood given the document (`likelihood`), and so is the window that counts of a
document too long for the model: the one that makes the output likeliest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Row
from quintet.core.score import Score
from quintet.errors import ModelError
from quintet.metrics.evaluator.likelihood import LanguageSignal, grounds_of
from quintet.metrics.evaluator.reading import Output, read_output, weighted_mean
from quintet.metrics.evaluator.signal import clipped, log_odds
from quintet.metrics.evaluator.word_support import Backed, backed_words, mean_over_content
from quintet.metrics.role_metric import cut_of
from quintet.models.open import open_model
from quintet.models.roles import Judgement, TokenScores


@dataclass(frozen=True)
class Reader(LanguageSignal):
    """Heads con, nli and words of the language model; an output read in pieces is their mean, by length."""

    name = "evaluator-reader"
    heads: ClassVar[tuple[str, ...]] = ("con", "nli", "words")
    dimensions = (
        log_odds(
            "consistency", "Is the output consistent with the document, as the language model reads it?", "source"
        ),
        Dimension("entailment", "Does the document entail the output, as the language model reads it?", ("source",)),
        Dimension("words", "Is each content word backed by the document, as the language model reads it?", ("source",)),
    )

    def prepare(self) -> None:
        model = open_model(self.model, self.model_role)
        taught = getattr(model, "taught", ())
        if not taught:
            raise ModelError(f"{model.identity} has no heads that judge what it reads, which {self.name} asks for")
        for head in self.heads:
            if head not in taught:
                raise ModelError(f"{model.identity} was not taught the head {head!r}, which {self.name} asks for")

    def _signals(self, examples: Sequence[Example]) -> list[Row]:
        self.prepare()
        outputs = [read_output(example.output) for example in examples]
        jobs = [(grounds_of(e, "document"), output.text) for e, output in zip(examples, outputs, strict=True)]
        return [_row(output, parts) for output, parts in zip(outputs, self.read(jobs), strict=True)]


def _row(output: Output, parts: Sequence[TokenScores]) -> Row:
    judged = [_judgement(part) for part in parts]
    lengths = [len(part) for part in parts]
    words = list(_words(output, parts))
    spans = tuple(
        output.span(start + found.word.start, start + found.word.end, found.value, "word", found.note)
        for start, found in words
        if found.note
    )
    entailed = weighted_mean([float(one.entailment[0]) for one in judged], lengths)
    cut = cut_of(source=max(part.cut for part in parts))
    return {
        "consistency": Score(clipped(weighted_mean([one.heads["con"] for one in judged], lengths)), spans, cut=cut),
        "entailment": Score(min(1.0, entailed), spans, cut=cut),
        "words": Score(mean_over_content([(found.value, found.counts) for _, found in words]), spans, cut=cut),
    }


def _words(output: Output, parts: Sequence[TokenScores]) -> Iterator[tuple[int, Backed]]:
    """Each word with the place where its piece of the output begins."""
    end = 0
    for part in parts:
        # The text that the model read has a blank before it; pieces follow one another.
        text = part.text[1:]
        start = output.text.index(text, end)
        end = start + len(text)
        for found in backed_words(text, _visible_starts(part) - 1, _judgement(part).words):
            yield start, found


def _visible_starts(part: TokenScores) -> NDArray[np.int32]:
    """The first character of each sub-word that is no blank; 0, which is the blank before the text, if all are."""
    blanks = [len(piece) - len(piece.lstrip()) for piece in map(part.token, range(len(part)))]
    starts = part.starts + np.array(blanks, np.int32)
    return np.where(starts < part.ends, starts, np.int32(0))


def _judgement(part: TokenScores) -> Judgement:
    if part.judgement is None:
        raise ModelError("a language model with heads gave no judgement; this is a bug")
    return part.judgement
