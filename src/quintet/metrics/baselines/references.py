"""Several references: which one a score is taken from, and where it stands."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from quintet.core.example import Example
from quintet.core.score import Score, Span
from quintet.text.ngrams import ngrams
from quintet.text.overlap import common_subsequence_pairs
from quintet.text.tokens import Piece

# BLEU and ROUGE-L by the COCO caption protocol (Chen et al. 2015), which nlg-eval and with it USR's tables follow.
#
# Words are what white space cuts. BLEU takes the geometric mean of clipped precisions up to one order, tiny constants
# in place of smoothing, and the length of the nearest reference; ROUGE-L weighs recall by beta 1.2 and takes the best
# precision and the best recall, each of its own reference.

_TINY, _SMALL = 1e-15, 1e-9
BETA = 1.2


def bleu(output: str, references: Sequence[str], order: int) -> tuple[float, list[float], float]:
    """The score, its precisions and the brevity penalty, all between 0 and 1."""
    mine, others = output.split(), [reference.split() for reference in references]
    precisions = []
    for n in range(1, order + 1):
        most: Counter[tuple[str, ...]] = Counter()
        for words in others:
            most |= Counter(ngrams(words, n))
        shared = sum((Counter(ngrams(mine, n)) & most).values())
        precisions.append((shared + _TINY) / (max(len(mine) - n + 1, 0) + _SMALL))
    nearest = min((abs(len(words) - len(mine)), len(words)) for words in others)[1]
    ratio = (len(mine) + _TINY) / (nearest + _SMALL)
    brevity = math.exp(1.0 - 1.0 / ratio) if ratio < 1.0 else 1.0
    return brevity * math.prod(precisions) ** (1.0 / order), precisions, brevity


def rouge_l(output: str, references: Sequence[str]) -> tuple[float, float, float]:
    """F, precision and recall."""
    mine = output.split()
    precision = recall = 0.0
    for reference in references:
        words = reference.split()
        common = len(common_subsequence_pairs(mine, words))
        precision = max(precision, common / max(len(mine), 1))
        recall = max(recall, common / max(len(words), 1))
    if precision == 0.0 or recall == 0.0:
        return 0.0, precision, recall
    return (1 + BETA**2) * precision * recall / (recall + BETA**2 * precision), precision, recall


NO_REFERENCE = "no reference with a visible character"


class Reference(NamedTuple):
    text: str
    offset: int
    """Where it begins in `example.text("references")`, to which evidence points."""

    def place(self, start: int, end: int) -> tuple[str, int, int]:
        return ("references", self.offset + int(start), self.offset + int(end))

    def matched(self, mine: Piece, theirs: Piece, value: float = 1.0) -> Span:
        """Evidence: a piece of the output and its counterpart in this reference."""
        return Span(mine.start, mine.end, value, other=self.place(theirs.start, theirs.end))


def references(example: Example) -> list[Reference]:
    """Those with something in them."""
    found, offset = [], 0
    for text in example.references:
        if text.strip():
            found.append(Reference(text, offset))
        offset += len(text) + 1
    return found


def best_reference(
    example: Example, score: Callable[[Reference], Score], better: Callable[[Score], float] = lambda s: s.value
) -> Score:
    """The score against the reference that is best by `better`; the first of equals."""
    found = references(example)
    return max(map(score, found), key=better) if found else no_reference(0.0)


def nearest_reference(example: Example, distance: Callable[[Reference], Score], furthest: float) -> Score:
    """For distances."""
    found = references(example)
    return min(map(distance, found), key=lambda s: s.value) if found else no_reference(furthest)


def no_reference(worst: float) -> Score:
    """Nothing to agree with, as when the output is empty."""
    return Score(worst, flags=(NO_REFERENCE,))


def harmonic_mean(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0


def texts_of(examples: Iterable[Example]) -> list[str]:
    """Every output and reference, for one request to an encoder."""
    return [text for e in examples for text in (e.output, *(r.text for r in references(e)))]
