"""Heads on whole transformers models: only what goes in and what is read differs, the weights keep their names.

Heads that transformers lacks are in `models.torch_heads`, since scoring needs them too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from quintet.models.torch_trained import run_encoder


class Tagger(nn.Module):
    """CTC's D: a word is the sum of its tokens in the last layer, then one linear layer; class 0 is supported.

    The weights are those of a transformers token classifier, which only its words tell apart from this.
    """

    def __init__(self, tokens: Any) -> None:
        super().__init__()
        self.tokens = tokens

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
        hidden = run_encoder(self.tokens.base_model, batch).last_hidden_state
        words = batch["word_weights"].to(hidden.dtype) @ hidden
        logits: Tensor = self.tokens.classifier(self.tokens.dropout(words))
        return logits


class Order(nn.Module):
    """ALBERT's sentence-order head on the pooled pair, without the vocabulary head beside it; class 0 is in order."""

    def __init__(self, whole: Any) -> None:
        super().__init__()
        self.whole = whole

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
        pooled = run_encoder(self.whole.base_model, batch).pooler_output
        logits: Tensor = self.whole.sop_classifier(pooled)
        return logits
