"""Dist-n: how uncommon the n-grams of a response are (IM2 section 4.3)."""

from __future__ import annotations

import gzip
import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Literal

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Metric, Row
from quintet.core.score import Score
from quintet.errors import InputError
from quintet.text.ngrams import ngrams
from quintet.text.tokens import words

# Counts of n-grams, kept in a file: Dist-n never counts the texts it scores.
#
# {"n": 2, "total": 270000, "distinct": 110000, "low": 0.0, "high": 0.01, "counts": {"i am": 900}}
#
# `total` and `distinct` are those of the whole corpus; rare n-grams may be left out of `counts`. `low` and `high` are
# the least and greatest released score over the corpus.

BUNDLED = "bigrams.json.gz"


@dataclass(frozen=True, eq=False)
class NgramTable:
    n: int
    total: int
    distinct: int
    low: float
    high: float
    counts: Mapping[str, int]
    units: str = "words"
    """words: lower case, without marks; blanks: cut at blanks alone, as in the released code."""

    def split(self, text: str) -> list[str]:
        return split_units(text, self.n) if self.units == "blanks" else word_units(text, self.n)

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
        units = {"units": self.units} if self.units != "words" else {}
        return json.dumps({**plain, **units, "counts": dict(sorted(self.counts.items()))}, ensure_ascii=False)


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


def table_of_set(contexts: Sequence[str], responses: Sequence[str], n: int = 2) -> NgramTable:
    """What the released code counts in a data set: n-grams of its own contexts and responses, with the least and the
    greatest score of the responses."""
    counts = Counter(unit for text in [*contexts, *responses] for unit in split_units(text, n))
    table = NgramTable(n, counts.total(), len(counts), 0.0, 0.0, counts, "blanks")
    scores = [released_score(table.split(text), table) for text in responses]
    return replace(table, low=min(scores), high=max(scores))


def corpus_scores(contexts: Sequence[str], responses: Sequence[str], n: int = 2) -> list[float]:
    """The released scores of a data set, stretched to 0..1. All are 0 where they do not differ (the original divides by
    zero)."""
    table = table_of_set(contexts, responses, n)
    return [stretched(released_score(table.split(text), table), table) for text in responses]


def stretched(score: float, table: NgramTable) -> float:
    spread = table.high - table.low
    return min(1.0, max(0.0, (score - table.low) / spread)) if spread > 0 else 0.0


_COUNTED: dict[str, NgramTable] = {}
_OF_SET = "set:"


def keep(table: NgramTable) -> str:
    """A name for a table that was counted in this process, to be given as `table=NAME`."""
    name = _OF_SET + hashlib.sha256(table.to_json().encode()).hexdigest()[:8]
    _COUNTED[name] = table
    return name


def read_table(path: str | None) -> NgramTable:
    """The bundled table (None), that of a file, `.json` or `.json.gz`, or one that was counted here."""
    if path is not None and path.startswith(_OF_SET):
        if path not in _COUNTED:
            raise InputError("this table of a set was counted elsewhere", path, "use table=set with quintet bench")
        return _COUNTED[path]
    return _read(path, _digest_of(path))


def table_identity(path: str | None) -> str:
    """For signatures: name and digest; a file that cannot be read says so when it is used."""
    if path is not None and path.startswith(_OF_SET):
        return path
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
        raise InputError("this is no table of n-grams", str(path), "make one with quintet.metrics.im2.diversity")
    return table


@dataclass(frozen=True)
class DistN(Metric):
    table: str | None = None
    """A file of n-gram counts (see `ngram_table`); None: bigrams of the bundled dialogue table. With `quintet bench`,
    `set`: those of the set itself, cut at blanks, as released."""
    mode: Literal["quintet", "released"] = "quintet"
    """quintet: rarity of the n-grams, a repeated one counted once. released: mean of -p ln p over distinct n-grams,
    stretched by the table's own least and greatest; common n-grams score higher there."""

    name = "im2-dist"
    paper = "Jiang et al. 2022"
    dimensions = (Dimension("diversity", "Does the response use words that are not in every response?"),)

    def prepare(self) -> None:
        read_table(self.table)

    def model_identities(self) -> Mapping[str, str]:
        return {"table": table_identity(self.table)}

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        table = read_table(self.table)
        return [{"diversity": self._one(example.output, table)} for example in examples]

    def _one(self, text: str, table: NgramTable) -> Score:
        units = table.split(text)
        distinct = dict.fromkeys(units)
        parts = {"n-grams": float(len(units)), "distinct": float(len(distinct))}
        if self.mode == "quintet":
            return Score(math.fsum(table.rarity(unit) for unit in distinct) / len(units), parts=parts)
        raw = released_score(units, table)
        parts["entropy"] = raw
        return Score(stretched(raw, table), parts=parts)
