"""What BERTScore and MoverScore share: idf weights of sub-words from a file that the user names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from quintet.metrics.baselines.frequencies import frequencies_identity, read_frequencies
from quintet.metrics.baselines.units import Floats, continues
from quintet.metrics.encoder_metric import EncoderMetric
from quintet.models.roles import TokenVectors


@dataclass(frozen=True)
class IdfMetric(EncoderMetric):
    df: str | None = None
    """A file of document frequencies over sub-words switches idf weighting on."""

    def prepare(self) -> None:
        super().prepare()
        if self.df is not None:
            read_frequencies(self.df)

    def model_identities(self) -> Mapping[str, str]:
        models = super().model_identities()
        return models if self.df is None else {**models, "df": frequencies_identity(self.df)}

    def weights(self, tokens: TokenVectors) -> Floats:
        """idf or 1 for every sub-word; the two special tokens, which stand in every text, weigh nothing."""
        weights = np.ones(len(tokens))
        if self.df is not None:
            idf = read_frequencies(self.df).smoothed_idf
            weights[1:-1] = [idf(unit) for unit in subword_units(tokens)]
        weights[[0, -1]] = 0.0
        return weights


def subword_units(tokens: TokenVectors) -> list[str]:
    """The sub-words between the special tokens, in lower case, `##` before those inside a word.

    They are the keys of a file of document frequencies: `count_documents(map(subword_units, embedded))`.
    """
    inside = continues(tokens)
    return [("##" if inside[i] else "") + tokens.token(i).strip().lower() for i in range(1, len(tokens) - 1)]
