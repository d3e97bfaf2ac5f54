"""GRUEN: the four sub-scores added up and clipped to 0..1 (section 3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from quintet.core.blend import Signal, weighted_sum
from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Metric, Row
from quintet.core.score import Score
from quintet.metrics.gruen.focus import Focus
from quintet.metrics.gruen.grammaticality import ACCEPTABILITY_MODEL, LM_MODEL, Grammaticality
from quintet.metrics.gruen.redundancy import Redundancy
from quintet.metrics.gruen.structure import ORDER_MODEL, Structure
from quintet.metrics.role_metric import RoleComposite
from quintet.text.punkt import RULES, sentences_identity

_LETTERS = {"gruen-grammaticality": "G", "gruen-focus": "U", "gruen-redundancy": "R", "gruen-structure": "C"}


@dataclass(frozen=True)
class Gruen(RoleComposite):
    model_lm: str = LM_MODEL
    model_acceptability: str = ACCEPTABILITY_MODEL
    model_words: str = "bundled:gte-small"
    model_order: str = ORDER_MODEL
    mode: Literal["quintet", "paper", "released-2020", "released-2022"] = "quintet"
    """released-2020: without structure, which was never released. released-2022: focus is dead as well."""
    modules: Literal["G", "GU", "GRU", "GRUC"] = "GRUC"
    """Which sub-scores are added up: grammaticality, focUs, non-Redundancy, struCture (Figure 1)."""
    stopwords: str | None = None
    """Of focus: a file with a stop word a line. None: spaCy's list in mode released-2020, NLTK's in the others."""
    sentences: str = RULES
    """punkt:FOLDER: by NLTK's Punkt, as released; FOLDER is punkt_tab/english of NLTK's data."""

    name = "gruen"
    paper = "Zhu & Bhat 2020"
    model_roles: ClassVar[Mapping[str, str]] = {
        "model_lm": "masked-lm",
        "model_acceptability": "pair-classifier",
        "model_words": "embedder",
        "model_order": "sentence-order",
    }
    dimensions = (Dimension("linguistic quality", "Is the text well written, whatever it says?"),)

    @property
    def ingredients(self) -> tuple[Metric, ...]:
        return tuple(metric for metric in self._all() if _LETTERS[metric.name] in self.modules)

    def _all(self) -> tuple[Metric, ...]:
        by = self.sentences
        models = {"model_lm": self.model_lm, "model_acceptability": self.model_acceptability}
        if self.mode.startswith("released"):
            base = Grammaticality(**models, mode="released", sentences=by), Redundancy(mode="released", sentences=by)
            return (
                (*base, Focus(self.model_words, mode="code2020", stopwords=self.stopwords, sentences=by))
                if self.mode == "released-2020"
                else base
            )
        mode: Literal["paper", "quintet"] = "paper" if self.mode == "paper" else "quintet"
        return (
            Grammaticality(**models, mode=mode, sentences=by),
            Redundancy(sentences=by),
            Focus(self.model_words, mode="paper", stopwords=self.stopwords, sentences=by),
            Structure(self.model_order, mode=mode, sentences=by),
        )

    def model_identities(self) -> Mapping[str, str]:
        return {**super().model_identities(), "sentences": sentences_identity(self.sentences)}

    @property
    def signals(self) -> tuple[Signal, ...]:
        names = {metric: metric.dimensions[0].name for metric in self.ingredients}
        return tuple(Signal(name, metric, name) for metric, name in names.items())

    def combine(self, example: Example, rows: Mapping[Metric, Row]) -> Row:
        total = weighted_sum(self.signals, rows)
        # Offending pairs are the evidence; how acceptable each sentence is stands with the sub-score.
        others = (signal for signal in self.signals if signal.label != "grammaticality")
        spans = tuple(span for signal in others for span in rows[signal.metric][signal.dimension].spans)
        value = min(1.0, max(0.0, total.value))
        return {"linguistic quality": Score(value, spans, total.parts, tuple(total.flags), total.cut)}
