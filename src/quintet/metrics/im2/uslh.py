"""USL-H (Phy et al. 2020), which IM2 grew out of: understandable, sensible and likable, one above the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Metric, Row
from quintet.core.score import Score
from quintet.metrics.im2 import inputs
from quintet.metrics.im2.classifiers import DialogueMlm, TrueResponse, ValidUtterance
from quintet.metrics.im2.inputs import OVERALL, check, route
from quintet.metrics.role_metric import RoleComposite

LOW, HIGH = -6.0, -1.0
"""Mean log-probabilities of responses that count as 0 and as 1; the authors take quartiles of their own data."""


@dataclass(frozen=True)
class UslH(RoleComposite):
    """.33 u + .33 s + .34 s l: what makes no sense here is not likable either. With `quality` (SELECTIVE) one of the
    three answers, by IM2's routing of qualities."""

    model_vup: str = inputs.VALID_MODEL
    model_nup: str = inputs.RESPONSE_MODEL
    model_mlm: str = inputs.LM_MODEL
    quality: str = "overall"
    low: float = LOW
    high: float = HIGH

    name = "usl-h"
    paper = "Phy et al. 2020"
    model_roles: ClassVar[Mapping[str, str]] = {
        "model_vup": "pair-classifier",
        "model_nup": "pair-classifier",
        "model_mlm": "masked-lm",
    }

    def __post_init__(self) -> None:
        check(self.quality)

    @property
    def dimensions(self) -> tuple[Dimension, ...]:  # type: ignore[override]
        return (Dimension(self.quality, "Is the response understandable, sensible and likable?", ("history",)),)

    @property
    def ingredients(self) -> tuple[Metric, ...]:
        return ValidUtterance(self.model_vup), TrueResponse(self.model_nup), DialogueMlm(self.model_mlm)

    def combine(self, example: Example, rows: Mapping[Metric, Row]) -> Row:
        u, s, likely = (next(iter(rows[metric].values())).value for metric in self.ingredients)
        liked = min(1.0, max(0.0, (likely - self.low) / (self.high - self.low)))
        values = {"nuf": u, "cr": s, "ies": liked, OVERALL: 0.33 * u + 0.33 * s + 0.34 * s * liked}
        parts = {"understandable": u, "sensible": s, "likable": liked}
        return {self.quality: Score(values[route(self.quality)], parts=parts)}
