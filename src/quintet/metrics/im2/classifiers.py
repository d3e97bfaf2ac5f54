"""IM2's sub-metrics with two classes: VUP, LSC, AB-BA, AB-AC and GRADE (section 4.3)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Literal

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Row
from quintet.core.score import Score, Span
from quintet.metrics.im2.inputs import (
    COHERENCE_MODEL,
    GRADE_LIMITS,
    ORDER_MODEL,
    RESPONSE_MODEL,
    VALID_MODEL,
    Mode,
    context,
    judge,
)
from quintet.metrics.role_metric import RoleMetric, cut_of, probability
from quintet.models.roles import Logits
from quintet.text.tokens import Piece

UNDECIDED = 0.5
_BREAK = re.compile(r"[;,.!?]")


@dataclass(frozen=True)
class TwoClasses(RoleMetric):
    mode: Mode = "quintet"

    paper: ClassVar[str] = "Jiang et al. 2022"
    model_role: ClassVar[str] = "pair-classifier"


@dataclass(frozen=True)
class ValidUtterance(TwoClasses):
    """VUP (USL-H): probability that the response is a valid utterance."""

    model: str = VALID_MODEL

    name = "im2-vup"
    dimensions = (Dimension("valid utterance", "Could someone have said this?"),)

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        found = judge(self.opened(), [(example.output, None) for example in examples], self.mode)
        return [
            {"valid utterance": Score(probability(logits.values), cut=cut_of(output=logits.cut[0]))} for logits in found
        ]


@dataclass(frozen=True)
class SelfConsistency(TwoClasses):
    """LSC: the mean AB-BA score of neighbouring pieces of the response. A response in one piece is undecided (0.5)."""

    model: str = ORDER_MODEL
    formula: Literal["paper", "released"] = "paper"
    """released: two slips of the code, as we read it. The letters of two neighbours are paired instead of the
    neighbours, and the sum over n pieces is divided by n and reduced by 1 instead of divided by n - 1; the empty piece
    after a closing mark counts. IM2's sums use the paper's formula in every mode."""

    name = "im2-lsc"

    @property
    def dimensions(self) -> tuple[Dimension, ...]:  # type: ignore[override]
        low, high = (0.0, 1.0) if self.formula == "paper" else (-1.0, 0.0)
        question = "Do the parts of the response follow from one another?"
        return (Dimension("self-consistency", question, low=low, high=high),)

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        if self.formula == "released":
            return self._score_released(examples)
        texts = [sub_sentences(example.output) for example in examples]
        pairs = [(a.text, b.text) for pieces in texts for a, b in pairwise(pieces)]
        found = iter(judge(self.opened(), pairs, self.mode))
        return [{"self-consistency": self._one(pieces, [next(found) for _ in pieces[1:]])} for pieces in texts]

    def _score_released(self, examples: Sequence[Example]) -> list[Row]:
        texts = [released_pieces(example.output) for example in examples]
        letters = [[list(zip(a, b, strict=False)) for a, b in pairwise(pieces)] for pieces in texts]
        found = iter(judge(self.opened(), [pair for text in letters for own in text for pair in own], self.mode))
        rows: list[Row] = []
        for pieces, text in zip(texts, letters, strict=True):
            scores = [[probability(next(found).values) for _ in own] for own in text]
            total = sum(sum(own) / len(own) for own in scores if own)
            parts = {"pieces": float(len(pieces))}
            rows.append({"self-consistency": Score(total / len(pieces) - 1.0, parts=parts)})
        return rows

    @staticmethod
    def _one(pieces: Sequence[Piece], found: Sequence[Logits]) -> Score:
        if not found:
            return Score(UNDECIDED, parts={"pairs": 0.0})
        values = [probability(logits.values) for logits in found]
        spans = tuple(
            Span(b.start, b.end, round(value, 4), "pair", other=("output", a.start, a.end))
            for (a, b), value in zip(pairwise(pieces), values, strict=True)
        )
        return Score(sum(values) / len(values), spans, {"pairs": float(len(values))})


def sub_sentences(text: str) -> list[Piece]:
    """Pieces between the marks ; , . ! ? that hold a letter or digit."""
    pieces, start = [], 0
    for end in [*(match.start() for match in _BREAK.finditer(text)), len(text)]:
        raw = text[start:end]
        if any(character.isalnum() for character in raw):
            left = start + len(raw) - len(raw.lstrip())
            pieces.append(Piece(raw.strip(), left, left + len(raw.strip())))
        start = end + 1
    return pieces


def released_pieces(text: str) -> list[str]:
    """Cut at a mark and the blanks after it; what stands after the last mark is kept, even if it is nothing."""
    return re.split(r"[;,.!?]\s*", text)


@dataclass(frozen=True)
class _Response(TwoClasses):
    """The probability that the response belongs where it stands."""

    turns: int = 1
    """How many of the last turns are shown in mode quintet."""

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        pairs = [(context(example, self.mode, self.turns), example.output) for example in examples]
        dimension = self.dimensions[0].name
        return [
            {
                dimension: Score(
                    probability(logits.values),
                    flags=() if example.history else ("no history",),
                    cut=cut_of(history=logits.cut[0], output=logits.cut[1]),
                )
            }
            for example, logits in zip(examples, self._judged(pairs), strict=True)
        ]

    def _judged(self, pairs: Sequence[tuple[str, str]]) -> list[Logits]:
        return judge(self.opened(), pairs, self.mode)


@dataclass(frozen=True)
class RightOrder(_Response):
    """AB-BA: the turn before and the response, against the two swapped."""

    model: str = ORDER_MODEL

    name = "im2-ab-ba"
    dimensions = (Dimension("order", "Does the response come after the turn, not before it?", ("history",)),)


@dataclass(frozen=True)
class TrueResponse(_Response):
    """AB-AC: the true response, against the most similar one of another dialogue."""

    model: str = RESPONSE_MODEL

    name = "im2-ab-ac"
    dimensions = (Dimension("relevance", "Does the response answer this turn and no other?", ("history",)),)


@dataclass(frozen=True)
class TopicCoherence(_Response):
    """GRADE's place: coherence of the last two turns and the response, by any model with one or two outputs.

    A model trained by the recipe `im2-grade` brings its keyword graph along; the bundled one reads the texts alone.
    """

    model: str = COHERENCE_MODEL
    turns: int = 2
    """GRADE's context is two utterances, in every mode."""

    name = "im2-grade"
    dimensions = (Dimension("coherence", "Does the response keep to the topic?", ("history",)),)

    def _judged(self, pairs: Sequence[tuple[str, str]]) -> list[Logits]:
        if self.mode == "quintet":
            return super()._judged(pairs)
        return list(self.opened().logits(pairs, GRADE_LIMITS))
