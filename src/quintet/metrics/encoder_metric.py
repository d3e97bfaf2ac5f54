"""What metrics on an encoder share: which model, which layer, and what to do with long texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from quintet.core.metric import Metric
from quintet.models.open import identity, open_model
from quintet.models.roles import Long, TokenVectors


@dataclass(frozen=True)
class EncoderMetric(Metric):
    model: str = "bundled:gte-small"
    layer: int = 9
    """0 is the embedding table; 9 is bert_score's choice for BERT encoders of twelve layers."""
    long: Long = "window"
    """cut: stop at the model's length, as the papers' code does; what was not seen is reported."""

    def prepare(self) -> None:
        open_model(self.model).announce(self.layer)

    def model_identities(self) -> Mapping[str, str]:
        return {"model": identity(self.model)}

    def embed(self, texts: Sequence[str]) -> dict[str, TokenVectors]:
        """Vectors by text; a text that stands in several examples is asked for once."""
        distinct = list(dict.fromkeys(texts))
        return dict(zip(distinct, open_model(self.model).embed(distinct, self.layer, self.long), strict=True))
