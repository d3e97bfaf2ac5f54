"""Grammaticality: sentence likelihood and acceptability, averaged over sentences (GRUEN section 3)."""

from __future__ import annotations

import hashlib
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import ClassVar, Literal

import numpy as np

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Metric, Row
from quintet.core.score import EMPTY_OUTPUT, Score, Span
from quintet.errors import UnknownName
from quintet.metrics.gruen.sentences import placed_sentences
from quintet.metrics.role_metric import BLIND_GUESS
from quintet.models.open import identity, open_model
from quintet.models.roles import Limits, Masking
from quintet.text.punkt import RULES, sentences_identity, splitter
from quintet.text.tokens import Piece

LM_MODEL = "bundled:evaluator"
ACCEPTABILITY_MODEL = "bundled:evaluator#acc"
_CODE_LIMIT = Limits(total=128)
"""The released code gives the acceptability model 128 tokens, special tokens included."""


AUTO = "auto"


@dataclass(frozen=True)
class Scaling:
    """What a likely and an acceptable sentence look like to a pair of models; read from scaling.toml, never fitted to
    the texts that are scored."""

    likelihood: tuple[float, float] | None = None
    """Mean log-probabilities that become 0 and 1; None: the mean probability itself."""
    acceptability: float = 1.0
    """Half the log-odds that count as one unit of y."""

    def likely(self, log_prob: float) -> float:
        if self.likelihood is None:
            return math.exp(log_prob)
        low, high = self.likelihood
        return min(1.0, max(0.0, (log_prob - low) / (high - low)))


def _constants() -> str:
    return files("quintet.metrics.gruen").joinpath("scaling.toml").read_text(encoding="utf-8")


@cache
def _digest() -> str:
    return hashlib.sha256(_constants().encode()).hexdigest()[:8]


@cache
def scaling_of(name: str) -> Scaling:
    tables = tomllib.loads(_constants())
    if name not in tables:
        raise UnknownName("scaling of gruen-grammaticality", name, tables)
    row = tables[name]
    ends = row.get("likelihood")
    return Scaling(None if ends is None else (float(ends[0]), float(ends[1])), float(row["acceptability"]))


def grammaticality(perplexity: float, acceptability: float) -> float:
    """y_g as released: max(0, (exp(-0.5 x) + y) / 8 + 0.5), x and y being means over sentences."""
    return max(0.0, (math.exp(-0.5 * perplexity) + acceptability) / 8 + 0.5)


@dataclass(frozen=True)
class Grammaticality(Metric):
    model_lm: str = LM_MODEL
    model_acceptability: str = ACCEPTABILITY_MODEL
    mode: Literal["quintet", "paper", "released"] = "quintet"
    """paper: each token masked in turn, x = exp(mean loss). released: one pass without masks, special tokens
    counted. quintet: masked, but the mean probability itself instead of exp(-0.5 x), which is 0 for most sentences;
    half the log-odds instead of one raw logit; never above 1."""
    scaling: str = AUTO
    """Mode quintet. bundled: constants of the bundled models, so that a plain human sentence comes near 1. plain: none.
    auto: by the models."""
    sentences: str = RULES
    """punkt:FOLDER: by NLTK's Punkt, as released; FOLDER is punkt_tab/english of NLTK's data."""

    name = "gruen-grammaticality"
    paper = "Zhu & Bhat 2020"
    model_roles: ClassVar[Mapping[str, str]] = {"model_lm": "masked-lm", "model_acceptability": "pair-classifier"}

    def __post_init__(self) -> None:
        # Settled once, so that parameters and signature show what is really done.
        if self.scaling == AUTO:
            bundled = (self.model_lm, self.model_acceptability) == (LM_MODEL, ACCEPTABILITY_MODEL)
            object.__setattr__(self, "scaling", "bundled" if bundled and self.mode == "quintet" else "plain")

    @property
    def dimensions(self) -> tuple[Dimension, ...]:  # type: ignore[override]
        # Only quintet clips above: the logit of the others has no bound.
        high = 1.0 if self.mode == "quintet" else None
        return (Dimension("grammaticality", "Is the text free of grammatical errors?", high=high),)

    def prepare(self) -> None:
        scaling_of(self.scaling)
        for parameter, role in self.model_roles.items():
            open_model(getattr(self, parameter), role)

    def model_identities(self) -> Mapping[str, str]:
        named = {parameter: identity(getattr(self, parameter)) for parameter in self.model_roles}
        settled = {"scaling": f"{self.scaling}@{_digest()}", "sentences": sentences_identity(self.sentences)}
        return {**named, **settled}

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
            return placed_sentences(text, cleaned=True, by=self.sentences)
        if self.mode == "paper":
            return splitter(self.sentences)(text)
        # A text of single words is judged as a whole rather than not at all.
        return placed_sentences(text, cleaned=False, by=self.sentences) or [
            Piece(text.strip(), text.find(text.strip()), len(text.rstrip()))
        ]

    def _likelihoods(self, flat: Sequence[str]) -> list[tuple[float, int]]:
        """Mean log-probability of each sentence, and what was not seen of it."""
        model = open_model(self.model_lm, "masked-lm")
        asked = [(None, text) for text in flat]
        if self.mode == "released":
            found = model.log_probs(asked, Masking("none", specials=True, long="cut"))
        else:
            found = model.log_probs(asked)
        return [(float(s.log_probs.mean(dtype=np.float64)) if len(s) else BLIND_GUESS, s.cut) for s in found]

    def _acceptabilities(self, flat: Sequence[str]) -> list[tuple[float, int]]:
        """The raw logit of "acceptable" as in the paper and the code, or half the log-odds, which no shift of both
        logits can change; of the same size when the two logits mirror each other."""
        model = open_model(self.model_acceptability, "pair-classifier")
        found = model.score([(text, None) for text in flat], _CODE_LIMIT if self.mode == "released" else Limits())
        if self.mode == "quintet":
            return [(_half_odds(logits.values), logits.cut[0]) for logits in found]
        return [(float(logits.values[-1]), logits.cut[0]) for logits in found]

    def _one(self, pieces: Sequence[Piece], values: Sequence[tuple[float, int, float, int]]) -> Score:
        if not values:
            # No sentence left: x = y = 0 in the released code, which makes 0.625 of an empty text.
            return Score(grammaticality(0.0, 0.0), flags=("no sentence of two words",))
        accepted = math.fsum(y for _, _, y, _ in values) / len(values)
        if self.mode == "quintet":
            scaling = scaling_of(self.scaling)
            likely = math.fsum(scaling.likely(logp) for logp, _, _, _ in values) / len(values)
            total = min(1.0, max(0.0, (likely + accepted / scaling.acceptability) / 8 + 0.5))
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
