"""SUPERT (Gao et al. 2020): a summary beside a pseudo-reference made of the source's own first sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Row
from quintet.core.score import Score
from quintet.metrics.baselines.bertscore import match_greedily
from quintet.metrics.baselines.units import NO_WORDS, Floats
from quintet.metrics.role_metric import EncoderMetric
from quintet.models.roles import TokenVectors
from quintet.text.content_words import is_stopword
from quintet.text.sentences import sentences


@dataclass(frozen=True)
class Supert(EncoderMetric):
    """F of greedy matching of contextual vectors without stop words, against the first sentences of the source."""

    layer: int = -1
    """The paper takes the last layer of bert-large-nli-stsb: layer=24."""
    top: int = 15
    """Sentences of the source that stand in for a reference; the paper's best simple choice takes 10 to 15."""

    name = "supert"
    paper = "Gao et al. 2020"
    dimensions = (Dimension("relevance", "Does the summary say what the source opens with?", ("source",), low=-1.0),)

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        stand_ins = [" ".join(piece.text for piece in sentences(e.text("source"))[: self.top]) for e in examples]
        found = self.embed([*(e.output for e in examples), *stand_ins])
        rows: list[Row] = []
        for example, stand_in in zip(examples, stand_ins, strict=True):
            mine, theirs = found[example.output], found[stand_in]
            weights = _content(mine), _content(theirs)
            if not weights[0].any() or not weights[1].any():
                rows.append({"relevance": Score(0.0, flags=(NO_WORDS,))})
                continue
            parts = dict(match_greedily(mine, theirs, *weights).parts)
            rows.append({"relevance": Score(parts["f"], parts=parts, cut={"output": mine.cut} if mine.cut else {})})
        return rows


def _content(tokens: TokenVectors) -> Floats:
    """1 for sub-words that are neither stop words nor marks, 0 for the others and the special tokens."""
    units = [tokens.token(i) for i in range(len(tokens))]
    return np.array([float(any(c.isalnum() for c in unit) and not is_stopword(unit)) for unit in units])
