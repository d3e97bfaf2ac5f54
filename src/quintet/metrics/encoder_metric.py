"""What metrics on an encoder share: which model, which layer, and what to do with long texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from quintet.core.metric import Metric
from quintet.models.open import identity, open_model
from quintet.models.roles import Long, TokenVectors

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
