"""What must not be learnt from: texts of the benchmarks, and the same text twice."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

from quintet.data.benchmark import load
from quintet.data.catalog import names as benchmark_names
from quintet.data.rated import find_folder
from quintet.errors import UserError
from quintet.text.content_words import plain_words
from quintet.text.detokenise import detokenise
from quintet.text.sentences import sentences
from quintet_train.evaluator.tables import Choice, Dialogue, Document, Ending, Record, Story

LONG = 8
"""Words of a sentence that two texts do not share by chance."""
SHARED = 2
SHARE = 0.2
"""So many different long sentences of a benchmark, and such a share of all, and it is that benchmark's text; notices
that a paper prints under every article are not enough."""


def _key(text: str) -> int | None:
    words = plain_words(text)
    if len(words) < LONG:
        return None
    return int.from_bytes(hashlib.blake2b(" ".join(words).encode(), digest_size=8).digest(), "big")


def _keys(texts: Iterable[str]) -> list[int]:
    return [key for text in texts if (key := _key(text)) is not None]


def benchmark_keys(folder: str | None = None) -> tuple[frozenset[int], list[str]]:
    """Long sentences of documents, facts and histories of every benchmark that is here, and the names of those."""
    found: set[int] = set()
    names = []
    if not find_folder(folder).is_dir():
        return frozenset(), []
    for name in benchmark_names():
        try:
            benchmark = load(name, folder)
        except UserError:
            continue
        names.append(name)
        texts = {text for one in benchmark.examples for text in (one.source, one.context, *(one.history or ())) if text}
        for text in texts:
            plain = "\n".join(detokenise(line) for line in text.split("\n"))
            found.update(_keys([plain, *(piece.text for piece in sentences(plain, "line"))]))
    return frozenset(found), names


def _texts(record: Record) -> tuple[str, ...]:
    """Sentences or turns by which a record is recognised; pairs of sentences are no benchmark's text."""
    if isinstance(record, Dialogue):
        return record.turns
    if isinstance(record, Document):
        return record.sentences or record.summary
    if isinstance(record, Story | Ending):
        return record.sentences
    if isinstance(record, Choice):
        return record.history
    return ()


class Cleaner:
    """Passes records through, once each; counts what it held back."""

    def __init__(self, benchmarks: frozenset[int]) -> None:
        self._benchmarks = benchmarks
        self._seen: set[int] = set()
        self.in_benchmarks = 0
        self.repeated = 0

    def __call__(self, records: Iterable[Record]) -> Iterator[Record]:
        for record in records:
            if self._known(record):
                self.in_benchmarks += 1
            elif self._again(record):
                self.repeated += 1
            else:
                yield record

    def _known(self, record: Record) -> bool:
        keys = set(_keys(_texts(record))) if self._benchmarks else set()
        shared = len(keys & self._benchmarks)
        return shared >= max(SHARED, SHARE * len(keys)) or (0 < shared == len(keys))

    def _again(self, record: Record) -> bool:
        """Whole dialogues only: a document may stand under several summaries."""
        if not isinstance(record, Dialogue):
            return False
        key = hash(record.turns)
        if key in self._seen:
            return True
        self._seen.add(key)
        return False
