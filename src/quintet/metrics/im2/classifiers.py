"""IM2's sub-metrics with two classes: VUP, LSC, AB-BA, AB-AC and GRADE (section 4.3)."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Row
from quintet.core.score import EMPTY_OUTPUT, Score, Span
from quintet.errors import ModelError
from quintet.metrics.im2.inputs import (
    COHERENCE_MODEL,
    FIVE_IES_MODEL,
    FIVE_NUF_MODEL,
    GRADE_LIMITS,
    LM_MODEL,
    ORDER_MODEL,
    RESPONSE_MODEL,
    VALID_MODEL,
    Mode,
    context,
    judge,
)
from quintet.metrics.role_metric import BLIND_GUESS, RoleMetric, cut_of, probability
from quintet.models.roles import PairScore
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
    def _one(pieces: Sequence[Piece], found: Sequence[PairScore]) -> Score:
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

    def _judged(self, pairs: Sequence[tuple[str, str]]) -> list[PairScore]:
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

    def _judged(self, pairs: Sequence[tuple[str, str]]) -> list[PairScore]:
        if self.mode == "quintet":
            return super()._judged(pairs)
        return list(self.opened().score(pairs, GRADE_LIMITS))


# 5-NUF and 5-IES: five classes that imitate a five-point rating (IM2 section 4.3).

LOW, HIGH = 1.0, 5.0


def five_points(logits: NDArray[np.float32], model: str) -> float:
    """Five classes: sum of k × p_k, as released. One output: the rating itself, as the paper trains it (squared
    error). Two classes (a stand-in): 1 + 4 p."""
    if len(logits) == 5:
        shares = np.exp(logits.astype(np.float64) - float(logits.max()))
        return float((np.arange(1, 6) * shares).sum() / shares.sum())
    if len(logits) == 1:
        return min(HIGH, max(LOW, float(logits[0])))
    if len(logits) == 2:
        return LOW + (HIGH - LOW) * probability(logits)
    raise ModelError(f"{model} has {len(logits)} outputs; five classes, one number or two classes are wanted")


@dataclass(frozen=True)
class FivePoints(RoleMetric):
    mode: Literal["quintet", "paper", "released"] = "quintet"

    paper: ClassVar[str] = "Jiang et al. 2022"
    model_role: ClassVar[str] = "pair-classifier"

    def _sees_history(self) -> bool:
        return True

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        mode: Literal["quintet", "released"] = "released" if self.mode == "released" else "quintet"
        if self._sees_history():
            pairs = [(context(example, mode, 1), example.output) for example in examples]
            found = judge(self.opened(), pairs, mode)
            cuts = [cut_of(history=logits.cut[0], output=logits.cut[1]) for logits in found]
        else:
            found = judge(self.opened(), [(example.output, None) for example in examples], mode)
            cuts = [cut_of(output=logits.cut[0]) for logits in found]
        name = self.dimensions[0].name
        return [
            {name: Score(five_points(logits.values, self.model), cut=cut)}
            for logits, cut in zip(found, cuts, strict=True)
        ]


@dataclass(frozen=True)
class FiveNuf(FivePoints):
    model: str = FIVE_NUF_MODEL
    mode: Literal["quintet", "paper", "released"] = "quintet"
    """quintet and paper show the response alone (the paper's Table 1), released shows the history before it too."""

    name = "im2-nuf5"

    @property
    def dimensions(self) -> tuple[Dimension, ...]:  # type: ignore[override]
        needs = ("history",) if self._sees_history() else ()
        question = "How natural, understandable and fluent is the response?"
        return (Dimension("five points of fluency", question, needs, LOW, HIGH),)

    def _sees_history(self) -> bool:
        return self.mode == "released"


@dataclass(frozen=True)
class FiveIes(FivePoints):
    model: str = FIVE_IES_MODEL

    name = "im2-ies5"
    dimensions = (
        Dimension(
            "five points of interest",
            "How interesting, engaging and specific is the response?",
            ("history",),
            LOW,
            HIGH,
        ),
    )


# D-MLM: how a masked language model of dialogue finds the response on its own (IM2 section 4.3).


@dataclass(frozen=True)
class DialogueMlm(RoleMetric):
    """Each sub-word of the response masked in turn; the mean log-probability.

    Whether likely or unlikely words make a response specific is not said in the paper. The sign is a matter of the
    constants in a table of weights: a negative `scale` turns it round.
    """

    model: str = LM_MODEL
    measure: Literal["mean", "sum"] = "mean"
    """mean: the released code's nce; sum: minus its nll."""

    name = "im2-dmlm"
    paper = "Jiang et al. 2022"
    model_role = "masked-lm"
    dimensions = (
        Dimension("specificity", "Does the response use the words of dialogue?", low=-float("inf"), high=0.0),
    )

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        rows: list[Row] = []
        for found in self.opened().log_probs([(None, example.output) for example in examples]):
            if not len(found):
                rows.append({"specificity": Score(BLIND_GUESS, flags=("no sub-words",))})
                continue
            total = float(found.log_probs.sum(dtype=np.float64))
            mean = total / len(found)
            parts = {"mean": mean, "sum": total, "perplexity": math.exp(min(-mean, 50.0))}
            value = min(0.0, parts[self.measure])
            rows.append({"specificity": Score(value, parts=parts, cut=cut_of(output=found.cut))})
        return rows

    def _score_empty(self, example: Example) -> Row:
        return {"specificity": Score(BLIND_GUESS, flags=(EMPTY_OUTPUT,))}
