"""USR: a linear regression over z-scored sub-metrics, on the scale of human overall ratings (section 4.2.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from quintet.core.blend import Signal, digest, read_signals, read_table, weighted_sum
from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Metric, Row
from quintet.core.score import EMPTY_OUTPUT, Score
from quintet.errors import UserError
from quintet.metrics.role_metric import RoleComposite, weights_identity
from quintet.metrics.usr.inputs import CONTEXT_MODEL, FACT_MODEL, MLM_MODEL, Mode
from quintet.metrics.usr.likelihood import MaskedLikelihood
from quintet.metrics.usr.retrieval import DialogueRetrieval, FactRetrieval

SUB_METRICS = {"usr-mlm": "likelihood", "usr-dr-context": "context", "usr-dr-fact": "fact"}
AUTO, OWN, PUBLISHED = "auto", "usr/bundled", "usr/topical-chat"
FOREIGN = "means and deviations of the authors' models, not of these: read ranks, not values"
"""On the bundled models with the published weights, as in mode released."""
LOWEST = -3.4254
"""Deviations below the mean at which the lowest released MLM score stands (-2.35): where an empty response is put."""


@dataclass(frozen=True)
class Usr(RoleComposite):
    model_mlm: str = MLM_MODEL
    model_context: str = CONTEXT_MODEL
    model_fact: str = FACT_MODEL
    mode: Mode = "quintet"
    """Handed to the sub-metrics."""
    weights: str = AUTO
    """usr/topical-chat, usr/personachat: as published. usr/bundled, usr/bundled-personachat: the published weights with
    means and deviations of the bundled models. FILE.toml#TABLE of one's own (`quintet.metrics.fitting`). auto:
    usr/bundled on the bundled models, usr/topical-chat on others."""

    name = "usr"
    version = 2
    paper = "Mehri & Eskenazi 2020"
    model_roles: ClassVar[Mapping[str, str]] = {
        "model_mlm": "masked-lm",
        "model_context": "pair-classifier",
        "model_fact": "pair-classifier",
    }
    dimensions = (Dimension("overall", "How good is this response overall?", low=-float("inf"), high=None),)

    def __post_init__(self) -> None:
        # Settled once, so that parameters and signature show what is really done.
        if self.weights == AUTO:
            object.__setattr__(self, "weights", OWN if self._on_bundled and self.mode == "quintet" else PUBLISHED)

    @property
    def _on_bundled(self) -> bool:
        return (self.model_mlm, self.model_context, self.model_fact) == (MLM_MODEL, CONTEXT_MODEL, FACT_MODEL)

    @property
    def signals(self) -> tuple[Signal, ...]:
        known: dict[str, Metric] = {
            "usr-mlm": MaskedLikelihood(self.model_mlm, self.mode),
            "usr-dr-context": DialogueRetrieval(self.model_context, self.mode),
            "usr-dr-fact": FactRetrieval(self.model_fact, self.mode),
        }
        return read_signals(self.weights, known)

    @property
    def sub_metrics(self) -> dict[str, Metric]:
        """Those that the weights ask for: PersonaChat's do without DR(x=f)."""
        asked = {signal.metric.name: signal.metric for signal in self.signals}
        return {name: asked[name] for name in SUB_METRICS if name in asked}

    @property
    def ingredients(self) -> tuple[Metric, ...]:
        return tuple(self.sub_metrics.values())

    def combine(self, example: Example, rows: Mapping[Metric, Row]) -> Row:
        found = {name: rows[metric][SUB_METRICS[name]] for name, metric in self.sub_metrics.items()}
        total = weighted_sum(self.signals, rows, self.intercept)
        own = [FOREIGN] if self._on_bundled and self.weights in (PUBLISHED, "usr/personachat") else []
        flags = tuple(dict.fromkeys([*own, *(flag for score in found.values() for flag in score.flags)]))
        spans = found["usr-mlm"].spans if "usr-mlm" in found else ()
        return {"overall": Score(total.value, spans, {name: s.value for name, s in found.items()}, flags, total.cut)}

    @property
    def intercept(self) -> float:
        return float(read_table(self.weights).get("intercept", 0.0))

    def regress(self, scores: Mapping[str, float]) -> float:
        """The same of scores by sub-metric, as the paper writes it."""
        value = self.intercept
        for signal in self.signals:
            value += signal.weight * signal.normalised(scores[signal.metric.name])
        return value

    def model_identities(self) -> Mapping[str, str]:
        named = {"weights": weights_identity(self.weights, digest)}
        try:
            return {**super().model_identities(), **named}
        except UserError:
            return named

    def _score_empty(self, example: Example) -> Row:
        lowest = dict.fromkeys(self.sub_metrics, 0.0)
        row = next((signal for signal in self.signals if signal.metric.name == "usr-mlm"), None)
        if row is not None:
            lowest["usr-mlm"] = row.shift + LOWEST * row.scale
        return {"overall": Score(self.regress(lowest), flags=(EMPTY_OUTPUT,))}
