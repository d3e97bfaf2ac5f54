"""Word vectors from a file: word2vec's or GloVe's text format, one word and its numbers a line.

`vectors:FILE` plays the role of an embedder with one layer, 0. A word stands for itself, else for its lower case; words
that the file does not have take no part, as in the papers' code. Only the lines of words that are asked for are read.
"""

from __future__ import annotations

import hashlib
import mmap
import threading
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quintet.errors import ModelError
from quintet.models.memo import Memo
from quintet.models.passes import Layers
from quintet.models.roles import Long, TokenVectors
from quintet.text.tokens import words

_HEAD = 1 << 20
LONGEST = 1 << 30
"""A table has no longest text."""


def open_vectors(name: str, role: str) -> Memo:
    if role != "embedder":
        raise ModelError(f"vectors:{name} holds vectors of words and cannot be a {role}; name another model")
    return Memo(WordTable(Path(name).expanduser()))


def vectors_identity(name: str) -> str:
    """Name, size and a digest of the first megabyte: such files have gigabytes."""
    path = Path(name).expanduser()
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
        size = path.stat().st_size
    except OSError as error:
        raise ModelError(f"{path} cannot be read ({error.strerror})") from None
    return f"{path.name}@{hashlib.sha256(head + str(size).encode()).hexdigest()[:8]}/vectors"


class WordTable:
    def __init__(self, path: Path) -> None:
        self.identity = vectors_identity(str(path))
        self.layers, self.max_tokens = 0, LONGEST
        self._path, self._lock = path, threading.Lock()
        if not path.stat().st_size:
            raise ModelError(f"{path} is empty; vectors: takes a file with a word and its numbers on each line")
        with path.open("rb") as file:
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        first = self._bytes[: self._bytes.find(b"\n")].split()
        self._start = 0
        if len(first) == 2 and all(part.isdigit() for part in first):
            self._start = self._bytes.find(b"\n") + 1
            self.width = int(first[1])
        else:
            self.width = len(first) - 1
        self._places = self._indexed()
        self.vector = lru_cache(maxsize=200_000)(self._vector)

    def _indexed(self) -> dict[bytes, int]:
        """Word to the place of its line. A word may hold blanks (GloVe 840B): the numbers are counted from the end."""
        places: dict[bytes, int] = {}
        at = self._start
        while at < len(self._bytes):
            end = self._bytes.find(b"\n", at)
            end = len(self._bytes) if end < 0 else end
            blank = self._bytes.find(b" ", at, end)
            if blank > at:
                places.setdefault(self._bytes[at:blank], at)
            at = end + 1
        if not places:
            raise ModelError(f"{self._path} holds no vectors; each line is a word and {self.width} numbers")
        return places

    def _vector(self, word: str) -> NDArray[np.float32] | None:
        """The row of a word, or of its lower case."""
        forms = (form.encode("utf-8", "replace") for form in (word, word.lower()))
        at = next((self._places[form] for form in forms if form in self._places), -1)
        if at < 0:
            return None
        end = self._bytes.find(b"\n", at)
        fields = self._bytes[at : end if end >= 0 else None].split()
        try:
            row = np.array(fields[-self.width :], dtype=np.float32)
        except ValueError:
            row = np.empty(0, np.float32)
        if len(row) != self.width or len(fields) <= self.width:
            raise ModelError(f"{self._path}: the line of {word!r} has not {self.width} numbers")
        return row

    def embed_layers(self, texts: Sequence[str], layers: tuple[int, ...], long: Long) -> list[Layers]:
        with self._lock:
            return [{0: self._one(text)} for text in texts]

    def _one(self, text: str) -> TokenVectors:
        pieces = words(text, punctuation=True)
        known = [(piece, row) for piece in pieces if (row := self.vector(piece.text)) is not None]
        none = np.zeros(self.width, np.float32)
        starts = np.array([0, *(piece.start for piece, _ in known), len(text)], np.int32)
        ends = np.array([0, *(piece.end for piece, _ in known), len(text)], np.int32)
        return TokenVectors(text, starts, ends, np.stack([none, *(row for _, row in known), none]))
