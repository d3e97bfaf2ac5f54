"""Trained baselines that are a classifier or regressor over texts: FactCC, BLEURT, SUM-QE, PredictiveEngage.

Each needs the checkpoint of its paper; without one a head of the bundled evaluator answers in its place, which is
another model and gives other numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Row
from quintet.core.score import EMPTY_OUTPUT, Score, Span
from quintet.errors import ModelError
from quintet.metrics.baselines.references import best_reference, references
from quintet.metrics.role_metric import RoleMetric, cut_of, last_turns, probability
from quintet.models.roles import PairScore
from quintet.text.sentences import sentences
from quintet.text.tokens import Piece

_UNBOUNDED = -float("inf")


@dataclass(frozen=True)
class FactCc(RoleMetric):
    """Probability that each sentence is correct given the document, and their mean."""

    model: str = "bundled:evaluator#con"
    """A classifier of (document, claim) with two classes: FactCC's checkpoint, converted."""
    correct: Literal["auto", "first", "last"] = "auto"
    """Which class says correct: FactCC's first one; the last one of a bundled head."""

    name = "factcc"
    paper = "Kryscinski et al. 2020"
    model_role = "pair-classifier"
    dimensions = (Dimension("consistency", "Is each sentence consistent with the document?", ("source",)),)

    def __post_init__(self) -> None:
        if self.correct == "auto":
            object.__setattr__(self, "correct", "last" if self.model.startswith("bundled:") else "first")

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        units = [sentences(e.output) or [Piece(e.output, 0, len(e.output))] for e in examples]
        pairs = [(e.text("source"), unit.text) for e, own in zip(examples, units, strict=True) for unit in own]
        found = iter(self.opened().score(pairs))
        return [{"consistency": self._one(own, [next(found) for _ in own])} for own in units]

    def _one(self, units: Sequence[Piece], found: Sequence[PairScore]) -> Score:
        shares = [probability(one.values) for one in found]
        shares = shares if self.correct == "last" else [1.0 - share for share in shares]
        spans = tuple(
            Span(unit.start, unit.end, round(share, 4), "sentence") for unit, share in zip(units, shares, strict=True)
        )
        cut = cut_of(source=max(one.cut[0] for one in found), output=max(one.cut[1] for one in found))
        return Score(sum(shares) / len(shares), spans, cut=cut)


BLEURT_LEAST = -2.0
"""Below what BLEURT's checkpoints give any text (about -1.6)."""


@dataclass(frozen=True)
class Bleurt(RoleMetric):
    """What a regressor trained on human ratings says of (reference, output); the best reference counts."""

    model: str = "bundled:evaluator#adq"
    """A BLEURT checkpoint of the transformers port, with one output."""

    name = "bleurt"
    paper = "Sellam et al. 2020"
    model_role = "regressor"
    dimensions = (
        Dimension("quality", "Does the output mean what a reference means?", ("references",), _UNBOUNDED, None),
    )

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        pairs = [(reference.text, e.output) for e in examples for reference in references(e)]
        values = dict(zip(pairs, self.opened().score(pairs) if pairs else [], strict=True))
        rows: list[Row] = []
        for example in examples:
            own = {r.text: values[r.text, example.output] for r in references(example)}
            score = best_reference(example, lambda r, own=own: Score(own[r.text].value))  # type: ignore[misc]
            rows.append({"quality": score})
        return rows

    def _score_empty(self, example: Example) -> Row:
        return {"quality": Score(BLEURT_LEAST, flags=(EMPTY_OUTPUT,))}


SUM_QE = ("grammaticality", "non-redundancy", "referential clarity", "focus", "structure and coherence")
"""DUC's questions Q1 to Q5, the five outputs of SUM-QE."""


@dataclass(frozen=True)
class SumQe(RoleMetric):
    """Linguistic quality of a summary by itself: one of five outputs, or their mean."""

    model: str = "bundled:evaluator#acc"
    """SUM-QE's BERT-FT-M-1, converted: five outputs. Another number of outputs is one answer to every question."""
    ask: Literal["mean", "Q1", "Q2", "Q3", "Q4", "Q5"] = "mean"

    name = "sum-qe"
    paper = "Xenouleas et al. 2019"
    model_role = "pair-classifier"
    dimensions = (Dimension("linguistic quality", "Is the text well written?", low=_UNBOUNDED, high=None),)

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        model = self.opened()
        if self.ask != "mean" and len(model.labels) != len(SUM_QE):
            raise ModelError(
                f"{model.identity} has {len(model.labels)} outputs, not SUM-QE's five; leave out ask={self.ask}"
            )
        found = model.score([(example.output, None) for example in examples])
        return [
            {"linguistic quality": Score(self._value(one), parts=self._parts(one), cut=cut_of(output=one.cut[0]))}
            for one in found
        ]

    def _score_empty(self, example: Example) -> Row:
        return {"linguistic quality": Score(0.0, flags=(EMPTY_OUTPUT,))}

    def _value(self, found: PairScore) -> float:
        if len(found.values) != len(SUM_QE):
            return probability(found.values)
        values = [float(value) for value in found.values]
        return float(np.mean(values)) if self.ask == "mean" else values[int(self.ask[1]) - 1]

    @staticmethod
    def _parts(found: PairScore) -> dict[str, float]:
        if len(found.values) != len(SUM_QE):
            return {}
        return {name: float(value) for name, value in zip(SUM_QE, found.values, strict=True)}


@dataclass(frozen=True)
class PredictiveEngagement(RoleMetric):
    """Probability that a reply engages, from the turn before it and the reply."""

    model: str = "bundled:evaluator#sel"
    """A classifier of (turn, reply) trained on ConvAI's engagement labels; the bundled head knows true replies."""

    name = "predictive-engagement"
    paper = "Ghazarian et al. 2020"
    model_role = "pair-classifier"
    dimensions = (Dimension("engagement", "Does the reply engage the other speaker?", ("history",)),)

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        found = self.opened().score([(" ".join(last_turns(e)), e.output) for e in examples])
        return [{"engagement": Score(probability(one.values), cut=cut_of(output=one.cut[1]))} for one in found]
