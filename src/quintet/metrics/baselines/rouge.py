"""ROUGE-N and ROUGE-L (Lin 2004), equal to Google's rouge-score; ROUGE-W, which that library lacks."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Metric, Row
from quintet.core.score import Score, Span
from quintet.errors import InputError
from quintet.metrics.baselines import references as coco
from quintet.metrics.baselines.references import (
    Reference,
    best_reference,
    harmonic_mean,
    no_reference,
    references,
)
from quintet.text.ngrams import ngrams
from quintet.text.overlap import common_subsequence_pairs
from quintet.text.porter import stem
from quintet.text.tokens import Piece, words

_WORD = re.compile("[a-z0-9]+")


@dataclass(frozen=True)
class Rouge(Metric):
    variant: Literal["rouge1", "rouge2", "rouge3", "rouge4", "rougeL", "rougeW"] = "rouge1"
    part: Literal["f", "p", "r"] = "f"
    """Of the reference with the highest F, as rouge-score does."""
    stem: bool = False
    tokenizer: Literal["rouge-score", "words"] = "rouge-score"
    """rouge-score knows a-z and 0-9 only; `words` serves every script."""
    protocol: Literal["rouge-score", "coco"] = "rouge-score"
    """coco: rougeL as nlg-eval computes it, which USR's tables quote: white-space words, recall weighed by 1.2."""

    name = "rouge"
    paper = "Lin 2004"
    dimensions = (
        Dimension("rouge", "How much of the wording does the output share with a reference?", ("references",)),
    )

    def __post_init__(self) -> None:
        if not re.fullmatch("rouge[1-4LW]", self.variant):
            raise InputError(f"no such variant {self.variant!r}", "rouge", "choose rouge1 to rouge4, rougeL or rougeW")
        if self.protocol == "coco" and self.variant != "rougeL":
            raise InputError(f"coco has no {self.variant}", "rouge", "its only ROUGE is rougeL")

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        return [{"rouge": self._score_one(example)} for example in examples]

    def _score_one(self, example: Example) -> Score:
        if self.protocol == "coco":
            return self._coco(example)
        output = self._tokens(example.output)
        found = best_reference(example, lambda reference: self._against(output, reference), lambda s: s.parts["f"])
        return found if not found.parts else Score(found.parts[self.part], found.spans, found.parts)

    def _coco(self, example: Example) -> Score:
        known = [reference.text for reference in references(example)]
        if not known:
            return no_reference(0.0)
        parts = dict(zip("fpr", coco.rouge_l(example.output, known), strict=True))
        return Score(parts[self.part], parts=parts)

    def _against(self, output: list[Piece], reference: Reference) -> Score:
        other = self._tokens(reference.text)
        mine, theirs = [piece.text for piece in output], [piece.text for piece in other]
        if self.variant == "rougeW":
            precision, recall = weighted_subsequence(mine, theirs)
            f = harmonic_mean(precision, recall)
            return Score(f, parts={"f": f, "p": precision, "r": recall})
        if self.variant == "rougeL":
            pairs, n = common_subsequence_pairs(mine, theirs), 1
        else:
            n = int(self.variant[-1])
            pairs = _shared_ngrams(mine, theirs, n)
        precision = len(pairs) / max(len(mine) - n + 1, 1)
        recall = len(pairs) / max(len(theirs) - n + 1, 1)
        f = harmonic_mean(precision, recall)
        spans = tuple(
            Span(
                output[i].start, output[i + n - 1].end, 1.0, other=reference.place(other[j].start, other[j + n - 1].end)
            )
            for i, j in pairs
        )
        return Score(f, spans, {"f": f, "p": precision, "r": recall})

    def _tokens(self, text: str) -> list[Piece]:
        found = words(text) if self.tokenizer == "words" else _rouge_words(text)
        if self.tokenizer == "words":
            found = [Piece(p.text.lower(), p.start, p.end) for p in found]
        # rouge-score stems words longer than three letters.
        return [Piece(stem(p.text), p.start, p.end) if self.stem and len(p.text) > 3 else p for p in found]


_WEIGHT = 1.2
"""Runs of k words in a row weigh k to this power, as ROUGE-1.5.5 was called (-w 1.2)."""


def weighted_subsequence(mine: Sequence[str], theirs: Sequence[str]) -> tuple[float, float]:
    """ROUGE-W's precision and recall (Lin 2004, equations 13 and 14): a common subsequence in which words that follow
    one another on both sides weigh more."""
    if not mine or not theirs:
        return 0.0, 0.0
    best = [0.0] * (len(theirs) + 1)
    runs = [0] * (len(theirs) + 1)
    for word in mine:
        above, run_above = best[:], runs[:]
        for j, other in enumerate(theirs, 1):
            if word == other:
                k = run_above[j - 1]
                best[j], runs[j] = above[j - 1] + (k + 1) ** _WEIGHT - k**_WEIGHT, k + 1
            else:
                best[j], runs[j] = max(above[j], best[j - 1]), 0
    found = best[-1]
    precision, recall = ((found / len(side) ** _WEIGHT) ** (1 / _WEIGHT) for side in (mine, theirs))
    return precision, recall


def _rouge_words(text: str) -> list[Piece]:
    """Runs of a-z and 0-9 in the lower-cased text, with their places in the text as it was."""
    lower = text.lower()
    if len(lower) == len(text):
        return [Piece(m.group(), m.start(), m.end()) for m in _WORD.finditer(lower)]
    # Some letters become two in lower case (İ): remember where each came from.
    places = [i for i, letter in enumerate(text) for _ in letter.lower()]
    lower = "".join(letter.lower() for letter in text)
    return [Piece(m.group(), places[m.start()], places[m.end() - 1] + 1) for m in _WORD.finditer(lower)]


def _shared_ngrams(mine: Sequence[str], theirs: Sequence[str], n: int) -> list[tuple[int, int]]:
    """Places (i, j) of n-grams in common, each occurrence used once: as many as clipped counting counts."""
    waiting = defaultdict(list)
    for j, gram in enumerate(ngrams(theirs, n)):
        waiting[gram].append(j)
    taken: dict[tuple[str, ...], int] = defaultdict(int)
    pairs = []
    for i, gram in enumerate(ngrams(mine, n)):
        if taken[gram] < len(waiting.get(gram, ())):
            pairs.append((i, waiting[gram][taken[gram]]))
            taken[gram] += 1
    return pairs
