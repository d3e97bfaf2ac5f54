"""5-NUF and 5-IES: five classes that imitate a five-point rating (IM2 section 4.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Row
from quintet.core.score import Score
from quintet.errors import ModelError
from quintet.metrics.im2.inputs import FIVE_IES_MODEL, FIVE_NUF_MODEL, context, judge
from quintet.metrics.role_metric import RoleMetric, cut_of, probability

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
