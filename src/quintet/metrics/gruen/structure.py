"""Structure and coherence: sentence-order prediction over every split of a text (GRUEN section 3).

The authors never released theirs. The loss is the paper's; its scaling in the paper's examples (0.0 or -0.1) is not
disclosed, so ours is stated: see `mode`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Row
from quintet.core.score import EMPTY_OUTPUT, Score, Span
from quintet.metrics.role_metric import RoleMetric
from quintet.models.roles import Limits, PairScore
from quintet.text.punkt import RULES, sentences_identity, splitter
from quintet.text.tokens import Piece

ORDER_MODEL = "bundled:evaluator#ord"
CHANCE = math.log(2.0)
"""Loss of a model that cannot tell the right order from the wrong one."""
PENALTY = 0.1
_NEAR_THE_SPLIT = Limits(keep_first="end")


def order_loss(forward: float, swapped: float) -> float:
    """Mean logistic loss of one split; both are log-odds of "the first text comes first"."""
    return (_softplus(-forward) + _softplus(swapped)) / 2


@dataclass(frozen=True)
class Structure(RoleMetric):
    model: str = ORDER_MODEL
    mode: Literal["quintet", "paper", "penalty"] = "quintet"
    """paper: minus the loss. quintet: -0.1 × loss / ln 2, so 0 for an order beyond doubt and -0.1 for one no better
    than chance or worse. penalty: -0.1 if worse than chance, else 0, as the paper's examples are printed."""
    reach: int = 4
    """Sentences shown on either side of a split, except in mode paper, which shows all."""
    sentences: str = RULES
    """punkt:FOLDER: by NLTK's Punkt, as released; FOLDER is punkt_tab/english of NLTK's data."""

    name = "gruen-structure"
    paper = "Zhu & Bhat 2020"
    model_role = "sentence-order"

    @property
    def dimensions(self) -> tuple[Dimension, ...]:  # type: ignore[override]
        low = -float("inf") if self.mode == "paper" else -PENALTY
        return (Dimension("structure", "Are the sentences in a sensible order?", low=low, high=0.0),)

    def model_identities(self) -> Mapping[str, str]:
        return {**super().model_identities(), "sentences": sentences_identity(self.sentences)}

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        texts = [splitter(self.sentences)(example.output) for example in examples]
        pairs = [pair for pieces in texts for pair in self._pairs(pieces)]
        answers = iter(self.opened().score(pairs, _NEAR_THE_SPLIT) if pairs else [])
        rows: list[Row] = []
        for pieces in texts:
            found = [(next(answers), next(answers)) for _ in pieces[1:]]
            rows.append({"structure": self._one(pieces, found)})
        return rows

    def _pairs(self, pieces: Sequence[Piece]) -> list[tuple[str, str]]:
        """For each split the two halves in their order, then swapped."""
        pairs = []
        reach = len(pieces) if self.mode == "paper" else self.reach
        for split in range(1, len(pieces)):
            left = " ".join(piece.text for piece in pieces[max(0, split - reach) : split])
            right = " ".join(piece.text for piece in pieces[split : split + reach])
            pairs += [(left, right), (right, left)]
        return pairs

    def _one(self, pieces: Sequence[Piece], found: Sequence[tuple[PairScore, PairScore]]) -> Score:
        if not found:
            return Score(0.0, parts={"splits": 0.0})
        losses = [order_loss(forward.value, swapped.value) for forward, swapped in found]
        loss = math.fsum(losses) / len(losses)
        spans = tuple(
            Span(after.start, after.end, round(-own, 4), "pair", note="the order may be wrong here",
                 other=("output", before.start, before.end))
            for before, after, own in zip(pieces, pieces[1:], losses, strict=False)
            if own > CHANCE
        )  # fmt: skip
        cut = max(sum(forward.cut) for forward, _ in found)
        parts = {"loss": loss, "splits": float(len(losses))}
        return Score(self._scaled(loss), spans, parts, cut={"output": cut} if cut else {})

    def _scaled(self, loss: float) -> float:
        if self.mode == "paper":
            return -loss
        if self.mode == "penalty":
            return -PENALTY if loss > CHANCE else 0.0
        return -PENALTY * min(1.0, loss / CHANCE)

    def _score_empty(self, example: Example) -> Row:
        return {"structure": Score(0.0, flags=(EMPTY_OUTPUT,))}


def _softplus(x: float) -> float:
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))
