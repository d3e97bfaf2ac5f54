"""Texts to padded tensors, the same way for every head; special tokens inside a text are plain characters.

Truncation follows the papers: the longest side gives way (DR, R), only the second (D), or the first keeps its end and
the second its start (IM2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quintet.errors import InputError, ModelError
from quintet.models.subwords import Subwords

_FIRST = ("[CLS]", "<s>", "<cls>")
_LAST = ("[SEP]", "</s>", "<sep>", "<|endoftext|>")
_PAD = ("[PAD]", "<pad>", "<|endoftext|>")
_MASK = ("[MASK]", "<mask>", "<extra_id_0>")

_PREFIX_SPACE = frozenset({"roberta", "xlm-roberta", "camembert", "mpnet", "longformer"})
"""Model types for which it is a question whether a text begins as if a blank stood before it."""


@dataclass(frozen=True)
class Encoded:
    """Ids with segment numbers; `first` is where the first text's tokens stand, with their characters."""

    ids: list[int]
    segments: list[int]
    first: tuple[int, int] = (0, 0)
    offsets: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Limits:
    total: int = 512
    first: int = 0
    second: int = 0
    truncate: str = "longest"
    drop_cls: bool = False


class TextEncoder:
    """A `tokenizers.Tokenizer` with the frame its model was trained in."""

    def __init__(self, tokenizer: Any, model_type: str, prefix_space: bool = False) -> None:
        self.tokenizer = tokenizer
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        # The reader of the models room: `</s>` typed in a text must not become the separator itself.
        self._subwords = Subwords(tokenizer.to_str(), prefix_space=prefix_space and model_type in _PREFIX_SPACE)
        self.prefix_space = prefix_space
        """A word that begins a text is not the same token as inside it; USR and CTC-D were trained so. Folders
        from before this was a choice were trained with the blank."""
        self.model_type = model_type
        self.double = model_type in ("roberta", "xlm-roberta", "camembert", "bart", "longformer")
        self.last = self._id(_LAST)
        self.pad = self._id(_PAD)
        self.first = None if model_type in ("gpt2", "t5", "mt5") else self._id(_FIRST)

    def _id(self, names: Sequence[str]) -> int:
        for name in names:
            found = self.tokenizer.token_to_id(name)
            if found is not None:
                return int(found)
        raise ModelError(f"the tokenizer of this {self.model_type} model has none of {', '.join(names)}")

    @property
    def mask(self) -> int:
        return self._id(_MASK)

    @property
    def size(self) -> int:
        return int(self.tokenizer.get_vocab_size())

    def pieces(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        found = self._subwords.split(text)
        return found.ids.tolist(), list(zip(found.starts.tolist(), found.ends.tolist(), strict=True))

    def word_id(self, word: str) -> int:
        """The first token of a word that begins a text (UniEval's Yes and No)."""
        return self.pieces(word)[0][0]

    def pair(self, first: str, second: str | None, limits: Limits) -> Encoded:
        """Framed as the model knows pairs: BERT `[CLS] a [SEP] b [SEP]`, RoBERTa `<s> a </s></s> b </s>`, others
        `a </s> b </s>` (GPT-2 gets an end-of-text between the two, which the released IM2 code lacks)."""
        a, offsets = self.pieces(first)
        b = self.pieces(second)[0] if second is not None else []
        head = [] if self.first is None or limits.drop_cls else [self.first]
        middle = ([self.last] * (2 if self.double else 1)) if second is not None else []
        start, a, b = _cut(a, b, limits, limits.total - len(head) - len(middle) - 1)
        ids = [*head, *a, *middle, *b, self.last]
        turn = len(head) + len(a) + (1 if middle and not self.double else 0)
        segments = [0] * turn + [1] * (len(ids) - turn) if second is not None and not self.double else [0] * len(ids)
        place = (len(head), len(head) + len(a))
        return Encoded(ids, segments, place, tuple(offsets[start : start + len(a)]))

    def parts(self, texts: Sequence[str], total: int) -> list[int]:
        """Parts with the separator between them, cut from the right: the tail of the last part goes first."""
        ids: list[int] = []
        last = len(texts) - 1
        for number, text in enumerate(texts):
            # The blanks that stand around the separator in UniEval's strings, as inference writes them.
            written = f"{' ' if number else ''}{text}{' ' if number < last else ''}"
            ids += ([self.last] if number else []) + self.pieces(written)[0]
        return [*ids[: total - 1], self.last]

    def lines(self, texts: Sequence[str], tail: str, total: int) -> list[int]:
        """Parts as lines, for a model that only continues text; `tail` is never cut."""
        between, end = self.pieces("\n")[0], self.pieces(tail)[0]
        ids: list[int] = []
        for number, text in enumerate(texts):
            ids += (between if number else []) + self.pieces(text.strip())[0]
        return [*ids[: total - len(end)], *end]

    def padded(self, rows: Sequence[Sequence[int]], fill: int) -> NDArray[np.int64]:
        width = max(len(row) for row in rows)
        out = np.full((len(rows), width), fill, dtype=np.int64)
        for number, row in enumerate(rows):
            out[number, : len(row)] = row
        return out


def _cut(a: list[int], b: list[int], limits: Limits, room: int) -> tuple[int, list[int], list[int]]:
    """The start of what is left of `a`, then both; never empty on a side that had something."""
    if room < 2:
        raise InputError(f"max_tokens {limits.total} leaves no room for text")
    if limits.truncate == "keep-ends":
        # As in USL-H: the limits of each side bite only when both together are too long.
        if len(a) + len(b) > room or len(a) + len(b) > (limits.first + limits.second or room):
            b = b[: limits.second or room - 1]
            keep = min(limits.first or room, room - len(b))
            start = max(0, len(a) - keep)
            return start, a[start:], b[: room - min(len(a), keep)]
        return 0, a, b
    if limits.first:
        a = a[: limits.first]
    if limits.second:
        b = b[: limits.second]
    if limits.truncate == "second":
        a = a[: room - (1 if b else 0)]
        return 0, a, b[: room - len(a)]
    if limits.truncate != "longest":
        raise InputError(f"truncate must be longest, second or keep-ends, not {limits.truncate!r}")
    size_a, size_b = len(a), len(b)
    while size_a + size_b > room:
        if size_a > size_b:
            size_a -= 1
        else:
            size_b -= 1
    return 0, a[:size_a], b[:size_b]


def word_weights(words: Sequence[str], encoded: Encoded) -> NDArray[np.float32]:
    """(words, tokens): 1 where a token belongs to a word, shared out where several words hold the same token.

    Words stand with single blanks between them; those that were cut off have an empty row.
    """
    out = np.zeros((len(words), len(encoded.ids)), dtype=np.float32)
    begin = 0
    bounds = []
    for word in words:
        bounds.append((begin, begin + len(word)))
        begin += len(word) + 1
    at = 0
    for number, (start, end) in enumerate(encoded.offsets):
        while at < len(bounds) and bounds[at][1] <= start:
            at += 1
        held = [index for index in range(at, len(bounds)) if bounds[index][0] < end]
        # A token that is only the blank before a word (a lone `Ġ`) goes with that word, as in the release.
        for index in held or [at][: len(bounds) - at]:
            out[index, encoded.first[0] + number] = 1.0
    shared = out.sum(axis=0, keepdims=True)
    return out / np.maximum(shared, 1.0)
