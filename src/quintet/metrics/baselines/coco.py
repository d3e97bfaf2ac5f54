"""BLEU and ROUGE-L by the COCO caption protocol (Chen et al. 2015), which nlg-eval and with it USR's tables follow.

Words are what white space cuts. BLEU takes the geometric mean of clipped precisions up to one order, tiny constants in
place of smoothing, and the length of the nearest reference; ROUGE-L weighs recall by beta 1.2 and takes the best
precision and the best recall, each of its own reference.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from quintet.text.ngrams import ngrams
from quintet.text.overlap import common_subsequence_pairs

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
