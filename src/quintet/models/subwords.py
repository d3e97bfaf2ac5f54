"""Texts to token ids with character offsets; text is data and never becomes a special token."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from quintet.core.plain import JsonObject
from quintet.errors import ModelError
from quintet.models.roles import Limits

# White-space words and the tokens that make them up.

_WORD = re.compile(r"\S+")

Spans = list[tuple[int, int]]


def words_of(text: str, pieces: Pieces, ends_early: bool = False) -> tuple[Spans, NDArray[np.int64]]:
    """The words of the part that `pieces` cover, and for each token the number of its word (-1: none).

    `ends_early`: tokens of the text follow that are not among `pieces`, so the last word may not be whole.
    """
    words = [match.span() for match in _WORD.finditer(text)]
    starts = np.array([start for start, _ in words], np.int64)
    owner = np.full(len(pieces), -1, np.int64)
    bounds = list(zip(pieces.starts.tolist(), pieces.ends.tolist(), strict=True))
    for index, (start, end) in enumerate(bounds):
        # Tokens may begin with the space before their word; a space alone (`▁`) belongs to the word after it.
        alone = text[start:end] == " " and index + 1 < len(bounds) and bounds[index + 1][0] == end
        visible = _WORD.search(text, start, max(end, start + 1) + alone)
        if visible is not None:
            owner[index] = np.searchsorted(starts, visible.start(), "right") - 1
    used = sorted(set(owner[owner >= 0].tolist()))
    renumbered = {old: new for new, old in enumerate(used)}
    spans = [words[old] for old in used]
    if ends_early and spans:
        # The cut may run through a word: it ends where its last token does.
        spans[-1] = (spans[-1][0], int(pieces.ends[owner == used[-1]].max()))
    return spans, np.array([renumbered.get(old, -1) for old in owner.tolist()], np.int64)


# Two texts in one input: how they are framed, and which one gives way when they do not fit.

DOUBLE = frozenset({"roberta", "xlm-roberta", "camembert", "mpnet", "bart", "longformer"})
"""Model types that put two separators between the texts of a pair."""


@dataclass(frozen=True, slots=True, eq=False)
class Framed:
    ids: NDArray[np.int64]
    types: NDArray[np.int64]
    """Segment number of each id: 0 for the first text and its frame, 1 for the second."""
    first: slice
    """Where the tokens of the first text stand."""
    cut: tuple[int, int]
    """Tokens of each text that were left out."""
    skipped: int
    """How many of those of the first text stood at its start."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The special tokens around texts: `[CLS] a [SEP] b [SEP]`, or `<s> a </s></s> b </s>`."""

    start: int
    end: int
    double: bool

    @classmethod
    def of(cls, subwords: Subwords, model_type: str) -> Frame:
        start, end = subwords.frame
        return cls(start, end, model_type in DOUBLE)

    def put(self, first: Pieces, second: Pieces | None, limits: Limits, max_tokens: int) -> Framed:
        total = min(limits.total or max_tokens, max_tokens)
        middle = [] if second is None else [self.end] * (1 + self.double)
        a = _keep(first.ids, limits.first, limits.keep_first)
        b = np.empty(0, np.int64) if second is None else _keep(second.ids, limits.second, limits.keep_second)
        room = total - 2 - len(middle)
        last = [self.end] if limits.closed or len(a) + len(b) <= room else []
        size_a, size_b = shares(len(a), len(b), room + 1 - len(last), limits.strategy)
        a, b = _keep(a, size_a, limits.keep_first), _keep(b, size_b, limits.keep_second)
        ids = np.concatenate([[self.start], a, middle, b, last]).astype(np.int64)
        types = np.zeros(len(ids), np.int64)
        if second is not None:
            types[1 + len(a) + (2 if self.double else 1) :] = 1
        lost = (len(first) - len(a), 0 if second is None else len(second) - len(b))
        return Framed(ids, types, slice(1, 1 + len(a)), lost, lost[0] if limits.keep_first == "end" else 0)


def shares(first: int, second: int, room: int, strategy: str) -> tuple[int, int]:
    """How many tokens each text may keep.

    `longest_first` takes one token at a time from the longer text, from the second when both are as long (the rule
    of the library that the papers used); `only_second` never shortens the first unless it alone is too long.
    """
    over = first + second - room
    if over <= 0:
        return first, second
    if strategy == "only_second":
        return min(first, room), max(0, room - first)
    if strategy != "longest_first":
        raise ModelError(f"unknown truncation strategy {strategy!r}; write longest_first or only_second")
    if min(first, second) <= room // 2:
        return (first, room - first) if first < second else (room - second, second)
    return (room + 1) // 2, room // 2


def _keep(ids: NDArray[np.int64], size: int | None, which: str) -> NDArray[np.int64]:
    if size is None or len(ids) <= size:
        return ids
    return ids[:size] if which == "start" else ids[len(ids) - size :]


# Overlapping windows over a long sequence, and which window speaks for which position.


@dataclass(frozen=True, slots=True)
class Window:
    start: int
    end: int
    first: int
    """The positions this window speaks for are first … last - 1: those nearer to its centre than to any other's."""
    last: int


def windows(length: int, size: int, overlap: int) -> list[Window]:
    """Windows of `size` (one shorter one if all fits) that cover 0 … length - 1; the last is moved back to the end."""
    if length <= size:
        return [Window(0, length, 0, length)]
    stride = size - overlap
    starts = [*range(0, length - size, stride), length - size]
    # Windows are of one size, so half way between two centres is half way through the overlap; ties go to the left.
    borders = [0, *((right + left + size + 1) // 2 for left, right in pairwise(starts)), length]
    return [Window(s, s + size, a, b) for s, a, b in zip(starts, borders[:-1], borders[1:], strict=True)]


_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_NEVER = -1e6

FIRST = ("[CLS]", "<s>", "<cls>")
LAST = ("[SEP]", "</s>", "<sep>")
MASK = ("[MASK]", "<mask>")
PAD = ("[PAD]", "<pad>")


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """The tokens of one text without special tokens."""

    ids: NDArray[np.int64]
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, part: slice | NDArray[np.int64]) -> Pieces:
        return Pieces(self.ids[part], self.starts[part], self.ends[part])


class Subwords:
    """A tokenizer.json with padding, truncation and the special reading of `[SEP]` and its like switched off."""

    def __init__(self, settings: str, prefix_space: bool = False) -> None:
        plain = json.loads(settings)
        plain["padding"] = plain["truncation"] = None
        special = [token["id"] for token in plain.get("added_tokens", ()) if token.get("special")]
        special += _well_known(plain["model"]["vocab"])
        _forbid_special_pieces(plain["model"], special)
        if prefix_space:
            _add_prefix_space(plain.get("pre_tokenizer"))
            # It trims spaces off the offsets and would take the first letter of a text for the space that was added.
            _add_prefix_space(plain.get("post_processor"))
        self._tokenizer = Tokenizer.from_str(json.dumps(plain))
        self._tokenizer.encode_special_tokens = True
        self._names: dict[int, str] = {}
        self.unknown = self._tokenizer.token_to_id(_unknown_piece(plain["model"]))
        self._special = np.array(sorted(set(special) - {self.unknown}), np.int64)

    @classmethod
    def read(cls, path: Path, prefix_space: bool = False) -> Subwords:
        try:
            return cls(path.read_text(encoding="utf-8"), prefix_space)
        except FileNotFoundError:
            raise ModelError(
                f"{path.parent} has no {path.name}; a model folder needs the fast tokenizer file"
            ) from None
        except OSError as error:
            raise ModelError(f"{path} cannot be read ({error.strerror})") from None
        except Exception as error:  # anything in the file may be of another type than it should
            reason = " ".join(str(error).split())[:200]
            raise ModelError(f"{path} is not a tokenizer file ({reason or type(error).__name__})") from None

    @property
    def frame(self) -> tuple[int, int]:
        """The special tokens before and after a text, for encoders: as the tokenizer itself puts them, where it does.

        By name alone one cannot tell: MPNet's vocabulary has `[CLS]` and `[SEP]`, and frames texts by `<s>` and `</s>`.
        """
        own = self._tokenizer.encode("").ids
        return (own[0], own[-1]) if len(own) == 2 else (self.id(*FIRST), self.id(*LAST))

    def id(self, *names: str) -> int:
        """The id of the first of `names` that the vocabulary has."""
        for name in names:
            found = self._tokenizer.token_to_id(name)
            if found is not None:
                return int(found)
        raise ModelError(f"the tokenizer has no {' or '.join(names)}; the model is not of the kind asked for")

    def written(self, pieces: Pieces) -> tuple[str, ...]:
        """As the vocabulary writes them; its sign of a blank before a word becomes one."""
        for index in {int(index) for index in pieces.ids} - self._names.keys():
            name = self._tokenizer.id_to_token(index) or ""
            self._names[index] = name.replace("Ġ", " ").replace("▁", " ")
        return tuple(self._names[int(index)] for index in pieces.ids)

    def split(self, text: str) -> Pieces:
        # The Rust side takes no lone surrogates; one character for one keeps the offsets true.
        encoding = self._tokenizer.encode(_LONE_SURROGATE.sub("\ufffd", text), add_special_tokens=False)
        ids = np.array(encoding.ids, np.int64)
        offsets = np.array(encoding.offsets, np.int32).reshape(-1, 2)
        if len(self._special) and self.unknown is not None:
            ids[np.isin(ids, self._special)] = self.unknown
        return Pieces(ids, offsets[:, 0].copy(), offsets[:, 1].copy())


def _well_known(vocabulary: dict[str, int] | list[tuple[str, float]]) -> list[int]:
    """Ids of special tokens by name, for files that do not declare them."""
    names = {*FIRST, *LAST, *MASK, *PAD}
    numbered = vocabulary.items() if isinstance(vocabulary, dict) else ((p[0], i) for i, p in enumerate(vocabulary))
    return [index for name, index in numbered if name in names]


def _unknown_piece(model: JsonObject) -> str:
    if model["type"] == "Unigram":
        return model["vocab"][model.get("unk_id") or 0][0]
    return model.get("unk_token") or "<unk>"


def _forbid_special_pieces(model: JsonObject, special: list[int]) -> None:
    """In a Unigram vocabulary `</s>` is a piece like any other, and its score 0 would win whenever a text spells it."""
    if model["type"] != "Unigram":
        return
    for index in special:
        if index < len(model["vocab"]) and index != model.get("unk_id"):
            model["vocab"][index][1] = _NEVER


def _add_prefix_space(part_or_sequence: JsonObject | None) -> None:
    """`the` at the start of a text should be the same token as ` the` inside it (facts of CTC-E for RoBERTa)."""
    whole = part_or_sequence or {}
    for part in [whole, *whole.get("pretokenizers", []), *whole.get("processors", [])]:
        if part and "add_prefix_space" in part:
            part["add_prefix_space"] = True
