"""Groups as flat arrays of tokens, and batches of whole groups under a budget of tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from quintet.errors import InputError
from quintet_train.evaluator.groups import HEADS, TURN_MARK, Group, Judged

UNKNOWN = 255
"""Mark of a token of which nobody knows whether it is supported."""
_AT_ONCE = 512
_SORTED_TOGETHER = 60
"""Batches whose groups are sorted by length together: short and long still mix over an epoch."""


class Framed(NamedTuple):
    """A judged text as a network reads it."""

    ids: Sequence[int]
    marks: NDArray[np.uint8]
    size: int
    """How many of the tokens are the output's."""


class Framing(Protocol):
    """How a network reads judged texts."""

    def texts(self, groups: Sequence[Group]) -> Iterator[Framed]:
        """All texts of all groups, in order."""
        ...


@dataclass(frozen=True)
class Frame:
    """The encoder's: `[CLS] output [SEP]`, and, where there are grounds, `[CLS] grounds [SEP]` after it;
    `grounds [SEP]` for the heads that read both as one text."""

    tokenizer: Any
    max_tokens: int
    together: frozenset[str] = frozenset()

    def number(self, name: str) -> int:
        found = self.tokenizer.token_to_id(name)
        if found is None:
            raise InputError(f"the tokenizer has no {name}; the evaluator needs one of BERT's kind")
        return int(found)

    def framed(self, output: Sequence[int], grounds: Sequence[int], head: str = "") -> tuple[list[int], int]:
        """Tokens in their frame, and how many of them are the output's."""
        first, last = self.number("[CLS]"), self.number("[SEP]")
        output = output[: self.max_tokens * 2 // 3] if grounds else output[: self.max_tokens - 2]
        side = [first, *output, last]
        if grounds:
            opening = [] if head in self.together else [first]
            side += [*opening, *grounds[: self.max_tokens - 4 - len(output)], last]
        return side, len(output)

    def grounds(self, texts: Sequence[str]) -> dict[str, list[int]]:
        """Tokens of each text; [SEP] stands only between turns, never for what a text says."""
        pieces = list(dict.fromkeys(piece for text in texts for piece in text.split(TURN_MARK)))
        ids = dict(zip(pieces, (found.ids for found in self.encoded(pieces)), strict=True))
        out, separator = {}, self.number("[SEP]")
        for text in texts:
            joined: list[int] = []
            for place, piece in enumerate(text.split(TURN_MARK)):
                joined += [separator, *ids[piece]] if place else ids[piece]
            out[text] = joined
        return out

    def texts(self, groups: Sequence[Group]) -> Iterator[Framed]:
        every = [(group.head, text) for group in groups for text in group.texts]
        outputs = self.encoded([text.output for _, text in every])
        grounds = self.grounds([text.grounds for _, text in every if text.grounds])
        for (head, text), found in zip(every, outputs, strict=True):
            ids, size = self.framed(found.ids, grounds.get(text.grounds, []), head)
            yield Framed(ids, marks_of(found.offsets[:size], text, 1, len(ids)), size)

    def encoded(self, texts: Sequence[str]) -> list[Any]:
        found: list[Any] = self.tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return found


@dataclass(frozen=True)
class Packed:
    """Texts one after another; `ids` and `marks` are flat, the rest has one entry a text."""

    ids: NDArray[np.uint16]
    marks: NDArray[np.uint8]
    """1 for a supported token of the output, 0 for a wrong one, else UNKNOWN."""
    lengths: NDArray[np.int32]
    outputs: NDArray[np.int32]
    """Tokens of the output: those that a frame counts."""
    heads: NDArray[np.int16]
    labels: NDArray[np.float32]
    ranked: NDArray[np.bool_]
    groups: NDArray[np.int64]

    def save(self, path: Path) -> None:
        np.savez(path, **{field.name: getattr(self, field.name) for field in fields(self)})

    @staticmethod
    def load(path: Path) -> Packed:
        with np.load(path, allow_pickle=False) as found:
            return Packed(**{field.name: found[field.name] for field in fields(Packed)})


def pack(groups: Iterable[Group], frame: Framing) -> Packed:
    all_ids: list[NDArray[np.uint16]] = [np.zeros(0, np.uint16)]
    all_marks: list[NDArray[np.uint8]] = [np.zeros(0, np.uint8)]
    rows: list[tuple[int, int, int, float, bool, int]] = []
    source, number = iter(groups), 0
    while batch := list(islice(source, _AT_ONCE)):
        framed = frame.texts(batch)
        for group in batch:
            head = HEADS.index(group.head)
            for text in group.texts:
                ids, marks, size = next(framed)
                all_ids.append(np.array(ids, np.uint16))
                all_marks.append(marks)
                rows.append((len(ids), size, head, text.label, group.ranked, number))
            number += 1
    lengths, sizes, heads, labels, ranked, numbers = zip(*rows, strict=True) if rows else ((),) * 6
    return Packed(
        ids=np.concatenate(all_ids),
        marks=np.concatenate(all_marks),
        lengths=np.array(lengths, np.int32),
        outputs=np.array(sizes, np.int32),
        heads=np.array(heads, np.int16),
        labels=np.array(labels, np.float32),
        ranked=np.array(ranked, np.bool_),
        groups=np.array(numbers, np.int64),
    )


def marks_of(offsets: Sequence[tuple[int, int]], text: Judged, first: int, length: int) -> NDArray[np.uint8]:
    """Marks of `length` tokens, of which those from `first` on stand at these characters of the output."""
    out = np.full(length, UNKNOWN, np.uint8)
    if text.wrong is not None:
        for place, (start, end) in enumerate(offsets, first):
            if not _inside(start, end, text.unsure):
                out[place] = not _inside(start, end, text.wrong)
    return out


def _inside(start: int, end: int, spans: Sequence[tuple[int, int]]) -> bool:
    return any(start < last and end > begin for begin, last in spans)


def joined(parts: Sequence[Packed]) -> Packed:
    """All parts in order; groups keep apart."""
    shifts = np.cumsum([0, *(int(part.groups[-1]) + 1 if len(part.groups) else 0 for part in parts)])
    columns = {
        field.name: np.concatenate([getattr(part, field.name) for part in parts])
        for field in fields(Packed)
        if field.name != "groups"
    }
    groups = np.concatenate([part.groups + shift for part, shift in zip(parts, shifts, strict=False)])
    return Packed(**columns, groups=groups)


def batches(
    longest: NDArray[Any], counts: NDArray[Any], chosen: NDArray[Any], tokens: int, rng: np.random.Generator
) -> list[list[int]]:
    """Groups in batches of at most `tokens` tokens with padding, in a random order of batches.

    `longest` and `counts`: longest text and number of texts of each group; `chosen`: the groups, in the order drawn.
    """
    total = np.cumsum(longest[chosen] * counts[chosen])
    edges = np.searchsorted(total, np.arange(0, total[-1], tokens * _SORTED_TOGETHER))
    out: list[list[int]] = []
    for start, end in zip(edges, [*edges[1:], len(chosen)], strict=True):
        part = chosen[start:end]
        part = part[np.argsort(longest[part], kind="stable")]
        made = list(_filled(longest, counts, part, tokens))
        out += [made[index] for index in rng.permutation(len(made))]
    return out


def _filled(longest: NDArray[Any], counts: NDArray[Any], groups: NDArray[Any], tokens: int) -> Iterator[list[int]]:
    batch: list[int] = []
    widest = texts = 0
    for group in groups:
        wider = max(widest, int(longest[group]))
        if batch and wider * (texts + int(counts[group])) > tokens:
            yield batch
            batch, texts, wider = [], 0, int(longest[group])
        batch.append(int(group))
        texts += int(counts[group])
        widest = wider
    if batch:
        yield batch
