"""SARI (Xu et al. 2016): which n-grams of the source a rewrite keeps, deletes and adds, beside the references."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Metric, Row
from quintet.core.score import Score
from quintet.metrics.baselines.references import harmonic_mean, no_reference, references
from quintet.text.ngrams import ngrams

ORDERS = range(1, 5)
Grams = Counter[tuple[str, ...]]


@dataclass(frozen=True)
class Sari(Metric):
    """Tokens as the authors' script takes them: lower case, cut at white space. Over nothing a share is 0, as there."""

    name = "sari"
    paper = "Xu et al. 2016"
    dimensions = (
        Dimension("sari", "Does the rewrite keep, delete and add what the references do?", ("source", "references")),
    )

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        return [{"sari": self._one(example)} for example in examples]

    def _one(self, example: Example) -> Score:
        known = [reference.text for reference in references(example)]
        if not known:
            return no_reference(0.0)
        found = [_of_order(_grams(example.text("source"), n), _grams(example.output, n), [_grams(r, n) for r in known])
                 for n in ORDERS]  # fmt: skip
        keep, delete, add = (sum(values) / len(ORDERS) for values in zip(*found, strict=True))
        return Score((keep + delete + add) / 3, parts={"keep": keep, "delete": delete, "add": add})


def _grams(text: str, n: int) -> Grams:
    return Counter(ngrams(text.lower().split(), n))


def _of_order(source: Grams, output: Grams, known: Sequence[Grams]) -> tuple[float, float, float]:
    """F of what is kept, precision of what is deleted, F of what is added. Counts are taken once for each reference, so
    that an n-gram that half of them keep is half right."""
    wanted: Grams = sum(known, Counter())
    before = Counter({gram: count * len(known) for gram, count in source.items()})
    after = Counter({gram: count * len(known) for gram, count in output.items()})
    kept, keepable = before & after, before & wanted
    right = kept & keepable
    keep = harmonic_mean(_mean_share(right, kept), _mean_share(right, keepable))
    deleted = before - after
    delete = _mean_share(deleted - wanted, deleted)
    added, addable = output.keys() - source.keys(), wanted.keys() - source.keys()
    both = len(added & addable)
    add = harmonic_mean(both / len(added) if added else 0.0, both / len(addable) if addable else 0.0)
    return keep, delete, add


def _mean_share(part: Grams, whole: Grams) -> float:
    """Mean over the n-grams of `whole` of the share of their counts that is in `part`."""
    return sum(part[gram] / count for gram, count in whole.items()) / len(whole) if whole else 0.0
