"""Grammaticality: sentence likelihood and acceptability, averaged over sentences (GRUEN section 3)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Metric, Row
from quintet.core.score import EMPTY_OUTPUT, Score, Span
from quintet.metrics.gruen.sentences import placed_sentences
from quintet.metrics.role_metric import BLIND_GUESS
from quintet.models.open import identity, open_model
from quintet.models.roles import Limits
from quintet.text.sentences import sentences
from quintet.text.tokens import Piece

LM_MODEL = "bundled:evaluator"
ACCEPTABILITY_MODEL = "bundled:evaluator#acc"
_CODE_LIMIT = Limits(total=128)
"""The released code gives the acceptability model 128 sub-words, special tokens included."""


def grammaticality(perplexity: float, acceptability: float) -> float:
    """y_g as released: max(0, (exp(-0.5 x) + y) / 8 + 0.5), x and y being means over sentences."""
    return max(0.0, (math.exp(-0.5 * perplexity) + acceptability) / 8 + 0.5)


@dataclass(frozen=True)
class Grammaticality(Metric):
    model_lm: str = LM_MODEL
    model_acceptability: str = ACCEPTABILITY_MODEL
    mode: Literal["quintet", "paper", "released"] = "quintet"
    """paper: each sub-word masked in turn, x = exp(mean loss). released: one pass without masks, special tokens
    counted. quintet: masked, but the mean probability itself instead of exp(-0.5 x), which is 0 for most sentences;
    half the log-odds instead of one raw logit; never above 1."""

    name = "gruen-grammaticality"
    paper = "Zhu & Bhat 2020"
    model_roles: ClassVar[Mapping[str, str]] = {"model_lm": "masked-lm", "model_acceptability": "pair-classifier"}

    @property
    def dimensions(self) -> tuple[Dimension, ...]:  # type: ignore[override]
        # Only quintet clips above: the logit of the others has no bound.
        high = 1.0 if self.mode == "quintet" else None
        return (Dimension("grammaticality", "Is the text free of grammatical errors?", high=high),)

    def prepare(self) -> None:
        for parameter, role in self.model_roles.items():
            open_model(getattr(self, parameter), role)

    def model_identities(self) -> Mapping[str, str]:
        return {parameter: identity(getattr(self, parameter)) for parameter in self.model_roles}

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        texts = [self._sentences(example.output) for example in examples]
        flat = [piece.text for pieces in texts for piece in pieces]
        likelihoods = iter(self._likelihoods(flat))
        verdicts = iter(self._acceptabilities(flat))
        rows: list[Row] = []
        for pieces in texts:
            values = [(*next(likelihoods), *next(verdicts)) for _ in pieces]
            rows.append({"grammaticality": self._one(pieces, values)})
        return rows

    def _sentences(self, text: str) -> list[Piece]:
        if self.mode == "released":
            return placed_sentences(text, cleaned=True)
        if self.mode == "paper":
            return list(sentences(text))
        # A text of single words is judged as a whole rather than not at all.
        return placed_sentences(text, cleaned=False) or [
            Piece(text.strip(), text.find(text.strip()), len(text.rstrip()))
        ]

    def _likelihoods(self, flat: Sequence[str]) -> list[tuple[float, int]]:
        """Mean log-probability of each sentence, and what was not seen of it."""
        model = open_model(self.model_lm, "masked-lm")
        if self.mode == "released":
            found = model.log_probs(flat, "none", specials=True, long="cut")
        else:
            found = model.log_probs(flat, "each")
        return [(float(s.log_probs.mean(dtype=np.float64)) if len(s) else BLIND_GUESS, s.cut) for s in found]

    def _acceptabilities(self, flat: Sequence[str]) -> list[tuple[float, int]]:
        """The raw logit of "acceptable" as in the paper and the code, or half the log-odds, which no shift of both
        logits can change; of the same size when the two logits mirror each other."""
        model = open_model(self.model_acceptability, "pair-classifier")
        found = model.logits([(text, None) for text in flat], _CODE_LIMIT if self.mode == "released" else Limits())
        if self.mode == "quintet":
            return [(_half_odds(logits.values), logits.cut[0]) for logits in found]
        return [(float(logits.values[-1]), logits.cut[0]) for logits in found]

    def _one(self, pieces: Sequence[Piece], values: Sequence[tuple[float, int, float, int]]) -> Score:
        if not values:
            # No sentence left: x = y = 0 in the released code, which makes 0.625 of an empty text.
            return Score(grammaticality(0.0, 0.0), flags=("no sentence of two words",))
        accepted = math.fsum(y for _, _, y, _ in values) / len(values)
        if self.mode == "quintet":
            likely = math.fsum(math.exp(logp) for logp, _, _, _ in values) / len(values)
            total = min(1.0, max(0.0, (likely + accepted) / 8 + 0.5))
            parts = {"likelihood": likely, "acceptability": accepted}
        else:
            # exp of a mean loss overflows for sentences no model has seen the like of.
            perplexity = math.fsum(math.exp(min(-logp, 50.0)) for logp, _, _, _ in values) / len(values)
            total = grammaticality(perplexity, accepted)
            parts = {"perplexity": perplexity, "acceptability": accepted}
        spans = tuple(
            Span(piece.start, piece.end, round(y, 4), "sentence", note=f"mean log-probability {logp:.2f}")
            for piece, (logp, _, y, _) in zip(pieces, values, strict=True)
            if piece.end > piece.start
        )
        cut = sum(max(a, b) for _, a, _, b in values)
        return Score(total, spans, parts, cut={"output": cut} if cut else {})

    def _score_empty(self, example: Example) -> Row:
        value = grammaticality(0.0, 0.0) if self.mode == "released" else 0.0
        return {"grammaticality": Score(value, flags=(EMPTY_OUTPUT,))}


def _half_odds(logits: np.ndarray) -> float:
    return float(logits[0]) / 2 if len(logits) == 1 else (float(logits[1]) - float(logits[0])) / 2
