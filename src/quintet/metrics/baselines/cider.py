"""CIDEr and CIDEr-D (Vedantam et al. 2015): cosine of tf-idf vectors of n-grams, averaged over references, times 10."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Metric, Row
from quintet.core.score import Score
from quintet.metrics.baselines.frequencies import frequencies_identity, read_frequencies
from quintet.metrics.baselines.references import no_reference, references
from quintet.text.ngrams import ngrams
from quintet.text.tokens import words


@dataclass(frozen=True)
class Cider(Metric):
    df: str | None = None
    """A file of document frequencies; without one every n-gram weighs the same."""
    n: int = 4
    robust: bool = False
    """CIDEr-D: counts clipped to the reference's, and a Gaussian penalty on the difference in length."""
    sigma: float = 6.0
    """Width of that penalty in words."""

    name = "cider"
    paper = "Vedantam et al. 2015"
    dimensions = (Dimension("cider", "Does the output say what the references agree on?", ("references",), high=10.0),)

    def prepare(self) -> None:
        if self.df is not None:
            read_frequencies(self.df)

    def model_identities(self) -> Mapping[str, str]:
        return {} if self.df is None else {"df": frequencies_identity(self.df)}

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        idf = read_frequencies(self.df).cider_idf if self.df is not None else _uniform
        return [{"cider": self._score_one(example, idf)} for example in examples]

    def _score_one(self, example: Example, idf: Callable[[str], float]) -> Score:
        known = [_words(reference.text) for reference in references(example)]
        if not known:
            return no_reference(0.0)
        output = _words(example.output)
        parts = {}
        for n in range(1, self.n + 1):
            mine = _weigh(output, n, idf)
            mean = sum(self._similarity(mine, _weigh(other, n, idf), len(output) - len(other)) for other in known)
            parts[f"n={n}"] = 10 * mean / len(known)
        # Rounding lets a perfect match exceed 10 by 1e-15.
        return Score(min(sum(parts.values()) / self.n, 10.0), parts=parts)

    def _similarity(self, mine: dict[str, float], theirs: dict[str, float], difference: int) -> float:
        length = math.hypot(*mine.values()) * math.hypot(*theirs.values())
        if not length:
            return 0.0
        if not self.robust:
            return math.fsum(weight * theirs.get(gram, 0.0) for gram, weight in mine.items()) / length
        shared = math.fsum(min(weight, theirs[gram]) * theirs[gram] for gram, weight in mine.items() if gram in theirs)
        return shared / length * math.exp(-(difference**2) / (2 * self.sigma**2))


def cider_units(reference_texts: Iterable[str], n: int = 4) -> set[str]:
    """What one document counts for in a file of document frequencies: the n-grams of all references of one input."""
    listed = [_words(text) for text in reference_texts]
    return {" ".join(gram) for tokens in listed for k in range(1, n + 1) for gram in ngrams(tokens, k)}


def _words(text: str) -> list[str]:
    return [piece.text.lower() for piece in words(text)]


def _weigh(tokens: list[str], n: int, idf: Callable[[str], float]) -> dict[str, float]:
    counts = Counter(" ".join(gram) for gram in ngrams(tokens, n))
    return {gram: count * idf(gram) for gram, count in counts.items()}


def _uniform(gram: str) -> float:
    return 1.0
