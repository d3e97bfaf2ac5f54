"""Counts of words: SQuAD's token F1, distinct n-grams, entropy and length."""

from __future__ import annotations

import math
import re
import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Metric, Row
from quintet.core.score import Score, Span
from quintet.metrics.baselines.references import best_reference, harmonic_mean
from quintet.text.ngrams import ngram_counts, ngrams
from quintet.text.tokens import Piece, words

# Token F1 as in SQuAD: shared words after lower-casing and dropping punctuation and articles.

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


# What can be said of a response without reading it: how varied it is, how long it is.


def _lower_words(text: str) -> list[Piece]:
    return [Piece(p.text.lower(), p.start, p.end) for p in words(text)]


def _too_short(n: int) -> Score:
    return Score(0.0, flags=(f"fewer than {n} words",))


@dataclass(frozen=True)
class Distinct(Metric):
    """Li et al. 2016, within one output: different n-grams divided by all n-grams."""

    n: int = 1

    name = "distinct"
    paper = "Li et al. 2016"
    dimensions = (Dimension("distinct", "How varied is the wording of the output?"),)

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        return [{"distinct": self._score_one(example.output)} for example in examples]

    def _score_one(self, text: str) -> Score:
        pieces = _lower_words(text)
        grams = ngrams([p.text for p in pieces], self.n)
        if not grams:
            return _too_short(self.n)
        first: dict[tuple[str, ...], int] = {}
        spans = []
        for i, gram in enumerate(grams):
            j = first.setdefault(gram, i)
            if j < i:
                earlier = ("output", pieces[j].start, pieces[j + self.n - 1].end)
                spans.append(Span(pieces[i].start, pieces[i + self.n - 1].end, 0.0, "pair", note="said", other=earlier))
        return Score(len(first) / len(grams), tuple(spans))


@dataclass(frozen=True)
class NgramEntropy(Metric):
    """Zhang et al. 2018, within one output: entropy of its n-gram distribution in nats; at most ln of their number."""

    n: int = 2

    name = "ngram-entropy"
    paper = "Zhang et al. 2018"
    dimensions = (Dimension("ngram-entropy", "How evenly does the output spread over different n-grams?", high=None),)

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        return [{"ngram-entropy": self._score_one(example.output)} for example in examples]

    def _score_one(self, text: str) -> Score:
        counts = ngram_counts([p.text for p in _lower_words(text)], self.n)
        total = counts.total()
        if not total:
            return _too_short(self.n)
        # Sorted, since the order of a float sum shows in its last digit.
        entropy = math.fsum(c / total * math.log(total / c) for c in sorted(counts.values()))
        return Score(entropy, parts={"n-grams": float(total), "different": float(len(counts))})


@dataclass(frozen=True)
class ResponseLength(Metric):
    """White-space words: a strong baseline for engagingness, and what others must be checked against."""

    name = "response-length"
    dimensions = (Dimension("length", "How many words has the output?", high=None),)

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        return [{"length": Score(float(len(example.output.split())))} for example in examples]
