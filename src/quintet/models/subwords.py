"""Texts to sub-word ids with character offsets; text is data and never becomes a special token."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from quintet.errors import ModelError

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_NEVER = -1e6

FIRST = ("[CLS]", "<s>", "<cls>")
LAST = ("[SEP]", "</s>", "<sep>")
MASK = ("[MASK]", "<mask>")
PAD = ("[PAD]", "<pad>")


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """The sub-words of one text without special tokens."""

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
        except (ValueError, KeyError) as error:
            raise ModelError(f"{path} is not a tokenizer file ({error})") from None

    @property
    def frame(self) -> tuple[int, int]:
        """The special tokens before and after a text, for encoders."""
        return self.id(*FIRST), self.id(*LAST)

    def id(self, *names: str) -> int:
        """The id of the first of `names` that the vocabulary has."""
        for name in names:
            found = self._tokenizer.token_to_id(name)
            if found is not None:
                return int(found)
        raise ModelError(f"the tokenizer has no {' or '.join(names)}; the model is not of the kind asked for")

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


def _unknown_piece(model: dict) -> str:
    if model["type"] == "Unigram":
        return model["vocab"][model.get("unk_id") or 0][0]
    return model.get("unk_token") or "<unk>"


def _forbid_special_pieces(model: dict, special: list[int]) -> None:
    """In a Unigram vocabulary `</s>` is a piece like any other, and its score 0 would win whenever a text spells it."""
    if model["type"] != "Unigram":
        return
    for index in special:
        if index < len(model["vocab"]) and index != model.get("unk_id"):
            model["vocab"][index][1] = _NEVER


def _add_prefix_space(part_or_sequence: dict | None) -> None:
    """`the` at the start of a text should be the same sub-word as ` the` inside it (facts of CTC-E for RoBERTa)."""
    whole = part_or_sequence or {}
    for part in [whole, *whole.get("pretokenizers", []), *whole.get("processors", [])]:
        if part and "add_prefix_space" in part:
            part["add_prefix_space"] = True
