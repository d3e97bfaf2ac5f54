"""Nearest turns and sentences of other texts, by the vectors of the encoder that training starts from; similar words.

Random negatives are too easy, so examples draw on these. On a GPU if there is one: a third of a million sentences take
seconds there and an hour on a CPU.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from quintet_train.evaluator.groups import Neighbours
from quintet_train.evaluator.network import Encoder
from quintet_train.evaluator.tables import Tables
from quintet_train.trainer import autocast

KEPT = 24
SKIPPED = 4
"""The very nearest are often the same thing in other words."""
_SAME_TEXT = 0.985
_LONGEST = 96
_WORD_MIN = 4
_RARE_FROM = 1996
"""Where letters, signs and bits end in BERT's vocabulary and words begin."""
_ENDINGS = ("ing", "ed", "ly", "s")


def find(encoder: Encoder, tokenizer: Any, tables: Tables, device: torch.device) -> Neighbours:
    encoder = encoder.eval().to(device)
    found = []
    for texts, owners in ((tables.turns, tables.turn_dialogue), (tables.sentences, tables.sentence_document)):
        vectors = embed(encoder, tokenizer, texts, device)
        found.append(nearest(vectors, torch.from_numpy(owners).to(device)))
    words = similar_words(encoder.word.weight.detach(), tokenizer.get_vocab())
    return Neighbours(found[0], found[1], words)


@torch.no_grad()
def embed(encoder: Encoder, tokenizer: Any, texts: Sequence[str], device: torch.device, batch: int = 1024) -> Tensor:
    """Unit vectors: means of the last states; half precision on a GPU."""
    ids = [found.ids[:_LONGEST] for found in tokenizer.encode_batch(list(texts))]
    order = np.argsort([-len(one) for one in ids], kind="stable")
    width = encoder.word.weight.shape[1]
    out = torch.zeros(len(ids), width, dtype=torch.float16 if device.type == "cuda" else torch.float32, device=device)
    for start in range(0, len(ids), batch):
        rows = order[start : start + batch]
        length = len(ids[rows[0]])
        padded = torch.zeros(len(rows), length, dtype=torch.int64)
        mask = torch.zeros(len(rows), length, dtype=torch.bool)
        for place, row in enumerate(rows):
            padded[place, : len(ids[row])] = torch.tensor(ids[row])
            mask[place, : len(ids[row])] = True
        padded, mask = padded.to(device), mask.to(device)
        with autocast(device, "auto"):
            states = encoder(padded, torch.zeros_like(padded), mask).float()
        mean = (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        out[torch.from_numpy(rows.copy()).to(device)] = functional.normalize(mean, dim=-1).to(out.dtype)
    return out


@torch.no_grad()
def nearest(vectors: Tensor, owners: Tensor, kept: int = KEPT, skipped: int = SKIPPED) -> NDArray[np.int32]:
    """Rows of other texts from the fifth nearest on; texts that say the same come last. Few rows are repeated."""
    count = len(vectors)
    out = np.zeros((count, kept), np.int32)
    wanted = min(count, kept + skipped)
    for start in range(0, count, 4096):
        likeness = vectors[start : start + 4096] @ vectors.T
        likeness[likeness > _SAME_TEXT] = -1
        likeness[owners[start : start + 4096, None] == owners[None]] = -2
        values, rows = likeness.topk(wanted, dim=1)
        chosen, usable = rows[:, -kept:].cpu().numpy(), (values[:, -kept:] > -1).cpu().numpy()
        if wanted < kept + skipped or not usable.all():
            chosen = _only_usable(rows.cpu().numpy(), (values > -1).cpu().numpy(), (values > -2).cpu().numpy(), kept)
        out[start : start + 4096] = chosen
    return out


def _only_usable(
    rows: NDArray[np.int64], usable: NDArray[np.bool_], foreign: NDArray[np.bool_], kept: int
) -> NDArray[np.int64]:
    """For small corpora: usable rows over and over; else any of another text, even one that says the same."""
    out = np.zeros((len(rows), kept), np.int64)
    for place, own in enumerate(rows):
        good = own[usable[place]] if usable[place].any() else own[foreign[place]]
        out[place] = np.resize(good if len(good) else own, kept)
    return out


@torch.no_grad()
def similar_words(table: Tensor, vocabulary: Mapping[str, int]) -> dict[str, list[str]]:
    """Words of the same kind by their vectors, without inflections of one another."""
    common = sorted(
        (word for word, number in vocabulary.items() if _is_word(word) and number > min(_RARE_FROM, len(table) // 4)),
        key=lambda word: vocabulary[word],
    )
    if len(common) < KEPT:
        return {}
    rows = torch.tensor([vocabulary[word] for word in common], device=table.device)
    vectors = functional.normalize(table[rows].float(), dim=-1)
    out: dict[str, list[str]] = {}
    for start in range(0, len(common), 4096):
        found = (vectors[start : start + 4096] @ vectors.T).topk(min(32, len(common)), dim=1).indices.cpu().numpy()
        for place, near in enumerate(found, start):
            word = common[place]
            others = [common[row] for row in near[1:] if _same_kind(common[row], word)][2:10]
            if others:
                out[word] = others
    return out


def _is_word(word: str) -> bool:
    return word.isalpha() and word.isascii() and len(word) >= _WORD_MIN


def _same_kind(one: str, other: str) -> bool:
    return one[:_WORD_MIN] != other[:_WORD_MIN] and _ending(one) == _ending(other)


def _ending(word: str) -> str:
    return next((ending for ending in _ENDINGS if word.endswith(ending)), "")
