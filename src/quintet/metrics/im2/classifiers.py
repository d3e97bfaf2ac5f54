"""IM2's sub-metrics with two classes: VUP, LSC, AB-BA, AB-AC and GRADE (section 4.3)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

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
    """LSC: the mean AB-BA score of neighbouring pieces of the response.

    The released code pairs letters instead of pieces and computes sum / n - 1 instead of sum / (n - 1); neither is a
    metric one could want, so every mode follows the paper. A response in one piece is undecided (0.5).
    """

    model: str = ORDER_MODEL

    name = "im2-lsc"
    dimensions = (Dimension("self-consistency", "Do the parts of the response follow from one another?"),)

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        texts = [sub_sentences(example.output) for example in examples]
        pairs = [(a.text, b.text) for pieces in texts for a, b in pairwise(pieces)]
        found = iter(judge(self.opened(), pairs, self.mode))
        return [{"self-consistency": self._one(pieces, [next(found) for _ in pieces[1:]])} for pieces in texts]

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

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        return super()._score(examples)

    def _judged(self, pairs: Sequence[tuple[str, str]]) -> list[Logits]:
        if self.mode == "quintet":
            return super()._judged(pairs)
        return list(self.opened().logits(pairs, GRADE_LIMITS))
