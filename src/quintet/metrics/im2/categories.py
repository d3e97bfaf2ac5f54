"""NUF, CR and IES, each a weighted sum of sub-metrics, and IM2, a weighted sum of the three (equation 1, Table 2)."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from quintet.core.blend import Signal, digest, read_signals, read_table, weighted_sum
from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Metric, Row
from quintet.core.score import Score
from quintet.errors import UserError
from quintet.metrics.im2 import inputs
from quintet.metrics.im2.classifiers import (
    DialogueMlm,
    FiveIes,
    FiveNuf,
    RightOrder,
    SelfConsistency,
    TopicCoherence,
    TrueResponse,
    ValidUtterance,
)
from quintet.metrics.im2.diversity import DistN
from quintet.metrics.im2.inputs import OVERALL, Mode, check, note, route
from quintet.metrics.role_metric import RoleComposite, weights_identity

AUTO, OWN, PUBLISHED = "auto", "im2/fitted", "im2/published"


def table_of(weights: str, name: str) -> str:
    """The blend `name` in a set of weights: `im2/published`, `FILE.toml`, or `FILE.toml#SET`."""
    return f"{weights}#{name}" if weights.endswith(".toml") else f"{weights}/{name}"


@dataclass(frozen=True)
class Weighted(RoleComposite):
    """What the four composites share: a table of weights and constants, never taken from the texts being scored."""

    paper: ClassVar[str] = "Jiang et al. 2022"
    weights: str
    """im2/published: Table 2. im2/average: thirds. im2/bundled: Table 2, with constants of the bundled models.
    im2/fitted: fitted on the development ratings of DSTC10 with the bundled models. FILE.toml or FILE.toml#SET of one's
    own. auto: im2/fitted on the bundled models, im2/published on others."""
    mode: Mode

    def __post_init__(self) -> None:
        # Settled once, so that parameters and signature show what is really done.
        if self.weights == AUTO:
            bundled = all(getattr(self, key).startswith("bundled:") for key in self.model_roles)
            object.__setattr__(self, "weights", OWN if bundled and self.mode == "quintet" else PUBLISHED)

    @property
    @abstractmethod
    def recipe(self) -> str:
        """The table that holds the weights."""

    @property
    @abstractmethod
    def available(self) -> Mapping[str, Metric]:
        """Metrics that a table may name."""

    @property
    def signals(self) -> tuple[Signal, ...]:
        return read_signals(self.recipe, self.available)

    @property
    def dimensions(self) -> tuple[Dimension, ...]:  # type: ignore[override]
        table = read_table(self.recipe)
        return (Dimension(self._answers(), table["question"], (), table.get("low", -math.inf), table.get("high")),)

    def _answers(self) -> str:
        return self.recipe.replace("#", "/").rpartition("/")[2]

    @property
    def intercept(self) -> float:
        return float(read_table(self.recipe).get("intercept", 0.0))

    @property
    def ingredients(self) -> tuple[Metric, ...]:
        return tuple(dict.fromkeys(signal.metric for signal in self.signals))

    def combine(self, example: Example, rows: Mapping[Metric, Row]) -> Row:
        total = weighted_sum(self.signals, rows, self.intercept)
        parts: dict[str, float] = {}
        for signal in self.signals:
            # Under a category stand its sub-metrics, so that every number of the sum can be seen.
            found = rows[signal.metric][signal.dimension]
            parts |= {signal.label: found.value, **(found.parts if isinstance(signal.metric, Weighted) else {})}
        spans = next((rows[s.metric][s.dimension].spans for s in self.signals if rows[s.metric][s.dimension].spans), ())
        return {self.dimensions[0].name: Score(total.value, spans, parts, tuple(total.flags), total.cut)}

    def model_identities(self) -> Mapping[str, str]:
        named = {"weights": weights_identity(self.recipe, digest)}
        try:
            return {**super().model_identities(), **named}
        except UserError:
            return named


@dataclass(frozen=True)
class Nuf(Weighted):
    weights: str = AUTO
    mode: Mode = "quintet"
    model_valid: str = inputs.VALID_MODEL
    model_order: str = inputs.ORDER_MODEL
    model_nuf: str = inputs.FIVE_NUF_MODEL

    name = "im2-nuf"
    model_roles: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("model_valid", "model_order", "model_nuf"), "pair-classifier"
    )

    @property
    def recipe(self) -> str:
        return table_of(self.weights, "nuf")

    @property
    def available(self) -> Mapping[str, Metric]:
        return {
            "im2-lsc": SelfConsistency(self.model_order, self.mode),
            "im2-vup": ValidUtterance(self.model_valid, self.mode),
            "im2-nuf5": FiveNuf(self.model_nuf, self.mode),
        }


@dataclass(frozen=True)
class Cr(Weighted):
    weights: str = AUTO
    mode: Mode = "quintet"
    model_coherence: str = inputs.COHERENCE_MODEL
    model_response: str = inputs.RESPONSE_MODEL
    model_order: str = inputs.ORDER_MODEL

    name = "im2-cr"
    model_roles: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("model_coherence", "model_response", "model_order"), "pair-classifier"
    )

    @property
    def recipe(self) -> str:
        return table_of(self.weights, "cr")

    @property
    def available(self) -> Mapping[str, Metric]:
        return {
            "im2-grade": TopicCoherence(self.model_coherence, self.mode),
            "im2-ab-ac": TrueResponse(self.model_response, self.mode),
            "im2-ab-ba": RightOrder(self.model_order, self.mode),
        }


@dataclass(frozen=True)
class Ies(Weighted):
    weights: str = AUTO
    mode: Mode = "quintet"
    model_lm: str = inputs.LM_MODEL
    model_ies: str = inputs.FIVE_IES_MODEL
    table: str | None = None
    """N-gram counts for Dist-n."""

    name = "im2-ies"
    model_roles: ClassVar[Mapping[str, str]] = {"model_lm": "masked-lm", "model_ies": "pair-classifier"}

    @property
    def recipe(self) -> str:
        return table_of(self.weights, "ies")

    @property
    def available(self) -> Mapping[str, Metric]:
        return {
            "im2-dist": DistN(self.table, self.mode),
            "im2-dmlm": DialogueMlm(self.model_lm),
            "im2-ies5": FiveIes(self.model_ies, self.mode),
        }


@dataclass(frozen=True)
class Im2(Weighted):
    """OVERALL by default; with `quality`, SELECTIVE: the category that the quality belongs to answers (section 4.5)."""

    weights: str = AUTO
    mode: Mode = "quintet"
    quality: str = "overall"
    model_valid: str = inputs.VALID_MODEL
    model_order: str = inputs.ORDER_MODEL
    model_nuf: str = inputs.FIVE_NUF_MODEL
    model_coherence: str = inputs.COHERENCE_MODEL
    model_response: str = inputs.RESPONSE_MODEL
    model_lm: str = inputs.LM_MODEL
    model_ies: str = inputs.FIVE_IES_MODEL
    table: str | None = None

    name = "im2"
    model_roles: ClassVar[Mapping[str, str]] = {**Nuf.model_roles, **Cr.model_roles, **Ies.model_roles}

    def __post_init__(self) -> None:
        check(self.quality)
        super().__post_init__()

    @property
    def recipe(self) -> str:
        return table_of(self.weights, OVERALL)

    @property
    def available(self) -> Mapping[str, Metric]:
        made: Sequence[Metric] = (
            Nuf(self.weights, self.mode, self.model_valid, self.model_order, self.model_nuf),
            Cr(self.weights, self.mode, self.model_coherence, self.model_response, self.model_order),
            Ies(self.weights, self.mode, self.model_lm, self.model_ies, self.table),
        )
        return {metric.name: metric for metric in made}

    @property
    def signals(self) -> tuple[Signal, ...]:
        category = route(self.quality)
        if category == OVERALL:
            return super().signals
        metric = self.available[f"im2-{category}"]
        return (Signal(category.upper(), metric, metric.dimensions[0].name),)

    @property
    def intercept(self) -> float:
        # A category that answers alone brings its own.
        return super().intercept if route(self.quality) == OVERALL else 0.0

    def _answers(self) -> str:
        return self.quality

    def combine(self, example: Example, rows: Mapping[Metric, Row]) -> Row:
        found = super().combine(example, rows)
        told = note(self.quality)
        return found if not told else {k: replace(s, flags=(*s.flags, *told)) for k, s in found.items()}
