"""Counts of n-grams, kept in a file: Dist-n never counts the texts it scores.

    {"n": 2, "total": 270000, "distinct": 110000, "low": 0.0, "high": 0.01, "counts": {"i am": 900}}

`total` and `distinct` are those of the whole corpus; rare n-grams may be left out of `counts`. `low` and `high` are the
least and greatest released score over the corpus.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from quintet.errors import InputError
from quintet.text.ngrams import ngrams
from quintet.text.tokens import words

BUNDLED = "bigrams.json.gz"


@dataclass(frozen=True, eq=False)
class NgramTable:
    n: int
    total: int
    distinct: int
    low: float
    high: float
    counts: Mapping[str, int]

    def rarity(self, unit: str) -> float:
        """Surprise of an n-gram as a share of the greatest there can be, with one added to every count."""
        everything = self.total + self.distinct
        return math.log(everything / (self.counts.get(unit, 0) + 1)) / math.log(everything)

    def entropy_term(self, unit: str) -> float:
        """-p ln p, as released: largest for frequent n-grams."""
        share = self.counts.get(unit, 0) / self.total
        return -share * math.log(share) if share else 0.0

    def to_json(self) -> str:
        plain = {"n": self.n, "total": self.total, "distinct": self.distinct, "low": self.low, "high": self.high}
        return json.dumps({**plain, "counts": dict(sorted(self.counts.items()))}, ensure_ascii=False)


def word_units(text: str, n: int) -> list[str]:
    """Lower-case n-grams of words; a text of `n` words or fewer is one unit, as in the released code."""
    return _units([piece.text.lower() for piece in words(text)] or text.split(), n)


def split_units(text: str, n: int) -> list[str]:
    """The released code's: cut at blanks, case and punctuation kept."""
    return _units(text.split(" "), n)


def _units(tokens: Sequence[str], n: int) -> list[str]:
    return [" ".join(tokens)] if len(tokens) <= n else [" ".join(gram) for gram in ngrams(tokens, n)]


def count_table(texts: Iterable[str], n: int = 2, least: int = 1) -> NgramTable:
    """A table of one's own corpus; n-grams counted fewer than `least` times are left out of the file."""
    listed = [word_units(text, n) for text in texts]
    counts = Counter(unit for units in listed for unit in units)
    if len(counts) < 2:
        raise InputError("a table of n-grams needs a corpus with at least two of them")
    kept = {unit: count for unit, count in counts.items() if count >= least}
    table = NgramTable(n, counts.total(), len(counts), 0.0, 1.0, kept)
    scores = [released_score(units, table) for units in listed]
    return NgramTable(n, table.total, table.distinct, min(scores), max(scores), kept)


def released_score(units: Sequence[str], table: NgramTable) -> float:
    """Mean of -p ln p over the distinct n-grams of a response, before any scaling."""
    distinct = dict.fromkeys(units)
    return math.fsum(table.entropy_term(unit) for unit in distinct) / len(distinct)


def corpus_scores(contexts: Sequence[str], responses: Sequence[str], n: int = 2) -> list[float]:
    """What the released code does to a data set: counts over its own contexts and responses, then scores of the
    responses stretched to 0..1. All are 0 where they do not differ (the original divides by zero)."""
    counts = Counter(unit for text in [*contexts, *responses] for unit in split_units(text, n))
    table = NgramTable(n, counts.total(), len(counts), 0.0, 1.0, counts)
    scores = [released_score(split_units(text, n), table) for text in responses]
    low, high = min(scores), max(scores)
    return [(score - low) / (high - low) if high > low else 0.0 for score in scores]


def read_table(path: str | None) -> NgramTable:
    """The bundled table (None), or that of a file, `.json` or `.json.gz`."""
    return _read(path, _digest_of(path))


def table_identity(path: str | None) -> str:
    """For signatures: name and digest; a file that cannot be read says so when it is used."""
    try:
        return f"{BUNDLED if path is None else Path(path).name}@{_digest_of(path)}"
    except InputError:
        return f"{path}@unread"


def _bytes(path: str | None) -> bytes:
    if path is None:
        return files("quintet.metrics.im2").joinpath(BUNDLED).read_bytes()
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"cannot read the table of n-grams ({error.strerror})", path) from None


def _digest_of(path: str | None) -> str:
    return hashlib.sha256(_bytes(path)).hexdigest()[:8]


@lru_cache(maxsize=8)
def _read(path: str | None, digest: str) -> NgramTable:
    raw = _bytes(path)
    try:
        plain = json.loads(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)
        counts = {str(unit): int(count) for unit, count in plain.pop("counts").items()}
        table = NgramTable(**plain, counts=counts)
        usable = table.n >= 1 and table.total >= max(counts.values(), default=1) and table.high >= table.low
    except (OSError, EOFError, ValueError, KeyError, TypeError, AttributeError):
        usable = False
    if not usable:
        raise InputError("this is no table of n-grams", str(path), "make one with quintet.metrics.im2.ngram_table")
    return table
