"""Token F1 as in SQuAD: shared words after lower-casing and dropping punctuation and articles."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Metric, Row
from quintet.core.score import Score
from quintet.metrics.baselines.references import best_reference, harmonic_mean

_ARTICLE = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


@dataclass(frozen=True)
class TokenF1(Metric):
    part: Literal["f", "p", "r", "exact"] = "f"

    name = "token-f1"
    paper = "Rajpurkar et al. 2016"
    dimensions = (Dimension("token-f1", "How many words does the output share with a reference?", ("references",)),)

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        return [{"token-f1": self._score_one(example)} for example in examples]

    def _score_one(self, example: Example) -> Score:
        mine = squad_words(example.output)
        return best_reference(example, lambda reference: self._against(mine, squad_words(reference.text)))

    def _against(self, mine: list[str], theirs: list[str]) -> Score:
        same = (Counter(mine) & Counter(theirs)).total()
        exact = float(mine == theirs)
        # SQuAD 2.0: when a side has no words left, only agreement counts.
        precision = same / len(mine) if mine and theirs else exact
        recall = same / len(theirs) if mine and theirs else exact
        parts = {"f": harmonic_mean(precision, recall), "p": precision, "r": recall, "exact": exact}
        return Score(parts[self.part], parts=parts)


def squad_words(text: str) -> list[str]:
    return _ARTICLE.sub(" ", text.lower().translate(_PUNCTUATION)).split()
