"""What metrics on a model role share: which model, opening it, and naming it in the signature."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from quintet.core.example import Example
from quintet.core.metric import Composite, Metric, Row
from quintet.core.score import EMPTY_OUTPUT, Score
from quintet.errors import UserError
from quintet.models.open import identity, open_model
from quintet.models.roles import Long, TokenVectors

BLIND_GUESS = -float(np.log(50_265))
"""Log-probability of one of RoBERTa's 50,265 tokens by a model that knows nothing: what an empty text is given."""


@dataclass(frozen=True)
class RoleMetric(Metric):
    """A metric on one model."""

    model: str = ""

    model_role: ClassVar[str]
    reads: ClassVar[tuple[str, ...]] = ()
    """Fields that are looked at where they are there, beyond those that must be."""

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*super().fields, *self.reads)))

    def opened(self) -> Any:
        return open_model(self.model, self.model_role)

    def prepare(self) -> None:
        self.opened()

    def model_identities(self) -> Mapping[str, str]:
        return {"model": identity(self.model)}


@dataclass(frozen=True)
class RoleComposite(Composite):
    """A composite whose `model_…` parameters are handed to its ingredients."""

    model_roles: ClassVar[Mapping[str, str]] = {}

    def model_identities(self) -> Mapping[str, str]:
        # The parameters name specs; what stands behind them is what makes the number.
        return {**{key: identity(getattr(self, key)) for key in self.model_roles}, **super().model_identities()}

    def _score_empty(self, example: Example) -> Row:
        """What the ingredients give for an empty text, put together."""
        rows = {metric: metric._score_empty(example) for metric in self.ingredients}
        return {
            name: Score(score.value, parts=score.parts, flags=(EMPTY_OUTPUT,))
            for name, score in self.combine(example, rows).items()
        }


def weights_identity(recipe: str, digest: Callable[[str], str]) -> str:
    """Name and digest of a table of weights; a table that cannot be read says so when it is used."""
    try:
        return f"{recipe}@{digest(recipe)}"
    except UserError:
        return f"{recipe}@unread"


def probability(logits: NDArray[np.float32]) -> float:
    """Of the last class of two; a model with one output gives the log-odds."""
    odds = float(logits[0]) if len(logits) == 1 else float(logits[1]) - float(logits[0])
    return float(0.5 * (1.0 + np.tanh(0.5 * odds)))


def cut_of(**counts: int) -> dict[str, int]:
    """What was not seen, by field; fields that were seen whole are left out."""
    return {field: count for field, count in counts.items() if count}


def last_turns(example: Example, count: int | None = 1) -> Sequence[str]:
    """The last `count` turns of the history (None: all of them), oldest first."""
    turns = example.history or ()
    return turns if count is None else turns[len(turns) - min(count, len(turns)) :]


# What metrics on an encoder share: which model, which layer, and what to do with long texts.

BY_NAME = -1
BERT_SCORE_LAYERS: Mapping[str, int] = {
    "albert-base-v2": 9,
    "albert-large-v2": 14,
    "bart-base": 6,
    "bart-large": 10,
    "bert-base-multilingual-cased": 9,
    "bert-base-uncased": 9,
    "bert-large-uncased": 18,
    "deberta-base": 9,
    "deberta-large": 16,
    "deberta-xlarge-mnli": 40,
    "distilbert-base-uncased": 5,
    "distilroberta-base": 5,
    "roberta-base": 10,
    "roberta-large": 17,
    "roberta-large-mnli": 19,
    "xlm-roberta-base": 9,
    "xlm-roberta-large": 17,
}
"""The layer that bert_score 0.3 takes for a model, by the last part of its name."""


def named_model(spec: str) -> str:
    """`hf:FacebookAI/roberta-large@main` and `dir:/models/roberta-large` are both `roberta-large`."""
    kind, _, name = spec.partition(":")
    base = name.partition("@")[0] if kind == "hf" else name
    return base.partition("#")[0].rstrip("/").rpartition("/")[2].lower()


@dataclass(frozen=True)
class EncoderMetric(Metric):
    model: str = "bundled:gte-small"
    layer: int = BY_NAME
    """-1: bert_score's choice for the model of this name; 9, its choice for BERT encoders of twelve layers, for models
    that it does not know. 0 is the embedding table."""
    long: Long = "window"
    """cut: stop at the model's length, as the papers' code does; what was not seen is reported."""

    usual_layer: ClassVar[int] = 9
    layers_by_name: ClassVar[Mapping[str, int]] = BERT_SCORE_LAYERS

    def __post_init__(self) -> None:
        # Settled once, so that parameters and signature show what is really done.
        if self.layer == BY_NAME:
            object.__setattr__(self, "layer", self.layers_by_name.get(named_model(self.model), self.usual_layer))

    def prepare(self) -> None:
        open_model(self.model).announce(self.layer)

    def model_identities(self) -> Mapping[str, str]:
        return {"model": identity(self.model)}

    def embed(self, texts: Sequence[str]) -> dict[str, TokenVectors]:
        """Vectors by text; a text that stands in several examples is asked for once."""
        distinct = list(dict.fromkeys(texts))
        return dict(zip(distinct, open_model(self.model).embed(distinct, self.layer, self.long), strict=True))
