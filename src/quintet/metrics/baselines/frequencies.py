"""Document frequencies in a file that the user names: in how many documents a unit (n-gram, token) stands.

    {"documents": 1000, "counts": {"the": 990, "the cat": 12}}

They never come from the texts being scored: a score would then depend on its neighbours.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from quintet.errors import InputError
from quintet.metrics.baselines.units import Floats, continues
from quintet.metrics.role_metric import EncoderMetric
from quintet.models.roles import TokenVectors


@dataclass(frozen=True, eq=False)
class Frequencies:
    documents: int
    counts: Mapping[str, int]

    def write(self, path: str | Path) -> None:
        plain = {"documents": self.documents, "counts": dict(sorted(self.counts.items()))}
        Path(path).write_text(json.dumps(plain, ensure_ascii=False), encoding="utf-8")

    def cider_idf(self, unit: str) -> float:
        """log N - log max(1, df), as in the CIDEr code."""
        return math.log(self.documents) - math.log(max(1, self.counts.get(unit, 0)))

    def smoothed_idf(self, unit: str) -> float:
        """log (N + 1) / (df + 1), as in bert_score and MoverScore."""
        return math.log((self.documents + 1) / (self.counts.get(unit, 0) + 1))


def count_documents(documents: Iterable[Iterable[str]]) -> Frequencies:
    """One count per document for each unit in it, however often it stands there."""
    counts: Counter[str] = Counter()
    number = 0
    for units in documents:
        counts.update(set(units))
        number += 1
    return Frequencies(number, counts)


def read_frequencies(path: str) -> Frequencies:
    return _read(path, *_stamp(path))


def frequencies_identity(path: str) -> str:
    """For signatures: the name and digest of the file. That it is missing is for `prepare` to say."""
    try:
        return f"{Path(path).name}@{_digest(path, *_stamp(path))}"
    except InputError:
        return f"{Path(path).name}@absent"


def _stamp(path: str) -> tuple[int, int]:
    """Changes when the file does, so that a rewritten file is read anew."""
    try:
        status = Path(path).stat()
    except OSError as error:
        raise InputError(f"cannot read document frequencies ({error.strerror})", path, "name a JSON file") from None
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=8)
def _digest(path: str, time: int, size: int) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:8]


@lru_cache(maxsize=8)
def _read(path: str, time: int, size: int) -> Frequencies:
    try:
        plain = json.loads(Path(path).read_text(encoding="utf-8"))
        documents, counts = int(plain["documents"]), {str(u): int(c) for u, c in plain["counts"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        todo = 'it must look like {"documents": 1000, "counts": {"the": 990}}'
        raise InputError("this is no file of document frequencies", path, todo) from None
    if documents < 1 or any(not 0 <= count <= documents for count in counts.values()):
        raise InputError("a count lies outside 0 to the number of documents", path, "count each document once")
    return Frequencies(documents, counts)


# What BERTScore and MoverScore share: idf weights of tokens from a file that the user names.


@dataclass(frozen=True)
class IdfMetric(EncoderMetric):
    df: str | None = None
    """A file of document frequencies over tokens switches idf weighting on."""

    def prepare(self) -> None:
        super().prepare()
        if self.df is not None:
            read_frequencies(self.df)

    def model_identities(self) -> Mapping[str, str]:
        models = super().model_identities()
        return models if self.df is None else {**models, "df": frequencies_identity(self.df)}

    def weights(self, tokens: TokenVectors) -> Floats:
        """idf or 1 for every token; the two special tokens, which stand in every text, weigh nothing."""
        weights = np.ones(len(tokens))
        if self.df is not None:
            idf = read_frequencies(self.df).smoothed_idf
            weights[1:-1] = [idf(unit) for unit in subword_units(tokens)]
        weights[[0, -1]] = 0.0
        return weights


def subword_units(tokens: TokenVectors) -> list[str]:
    """The tokens between the special tokens, in lower case, `##` before those inside a word.

    They are the keys of a file of document frequencies: `count_documents(map(subword_units, embedded))`.
    """
    inside = continues(tokens)
    return [("##" if inside[i] else "") + tokens.token(i).strip().lower() for i in range(1, len(tokens) - 1)]
