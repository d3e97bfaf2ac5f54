"""A language model with fewer tokens: those that its texts use. Examples are kept as 16-bit numbers, and large
vocabularies are mostly other languages and code.

A token is kept with the two it is merged of, so texts made of kept tokens are cut up as before; all else falls
into smaller ones, down to bytes.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import torch
from torch import nn

from quintet.errors import ModelError
from quintet_train.evaluator.starting import LanguageStart
from quintet_train.torch_parts import need

MOST = 2**16
_AT_ONCE = 4096
_MARKS = ("<|im_start|>", "<|im_end|>", "<|endoftext|>")
"""Kept whether texts use them or not: a text begins with one, and instructions are framed by them."""
_FORMS = (
    "\n\nTL;DR:",
    ".\n\nTL;DR:",
    "\n=>",
    "\n\n-",
    *(f"{mark}\n-" for mark in ("a", ".", "?", "!")),
    "user\n",
    "assistant\n",
)
"""What stands around texts when they are read (language_texts.py), and is kept too."""


def with_fewer_words(start: LanguageStart, texts: Iterable[str], most: int = MOST) -> LanguageStart:
    """The start itself if its vocabulary is small enough; else one with the tokens that the texts use most."""
    if start.network.shape.vocabulary <= most:
        return start
    told = json.loads(start.tokenizer.to_str())
    if told["model"].get("type") != "BPE":
        raise ModelError(f"a vocabulary of {start.network.shape.vocabulary} tokens can be cut only if it is BPE's")
    kept = _kept(told, [*_counted(start.tokenizer, _FORMS), *_counted(start.tokenizer, texts)], most)
    words = need("tokenizers").Tokenizer.from_str(json.dumps(_cut(told, kept)))
    network, rows = start.network, torch.tensor(kept)
    with torch.no_grad():
        network.emb = nn.Embedding.from_pretrained(network.emb.weight[rows].clone(), freeze=False)
        if network.out is not None:
            network.out.weight = nn.Parameter(network.out.weight[rows].clone())
    network.shape = replace(network.shape, vocabulary=len(kept))
    return replace(start, tokenizer=words)


def _counted(tokenizer: Any, texts: Iterable[str]) -> list[int]:
    """Their tokens, the most frequent first."""
    found: Counter[int] = Counter()
    source = iter(texts)
    while batch := list(islice(source, _AT_ONCE)):
        # As after a blank and as at the beginning of a line: the two are cut up differently.
        for one in tokenizer.encode_batch([*batch, *(f" {text}" for text in batch)], add_special_tokens=False):
            found.update(one.ids)
    return [number for number, _ in found.most_common()]


def _kept(told: Mapping[str, Any], wanted: Sequence[int], most: int) -> list[int]:
    """Numbers of the tokens that stay, in their order: marks, single characters, then those that are wanted most,
    with what they are made of, as long as there is room."""
    vocabulary: dict[str, int] = told["model"]["vocab"]
    parts = {left + right: (left, right) for left, right in _merges(told)}
    marks = {one["content"]: one["id"] for one in told["added_tokens"]}
    kept = {number for name, number in marks.items() if name in _MARKS}
    kept |= {number for name, number in vocabulary.items() if len(name) == 1}
    names = {number: name for name, number in vocabulary.items()}
    for number in wanted:
        own = {vocabulary[name] for name in _family(names[number], parts)} if number in names else {number}
        new = own - kept
        if len(kept) + len(new) > most:
            break
        kept |= new
    return sorted(kept)


def _family(name: str, parts: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    """A token and all that it is made of."""
    yield name
    for piece in parts.get(name, ()):
        yield from _family(piece, parts)


def _merges(told: Mapping[str, Any]) -> Iterator[Sequence[str]]:
    for one in told["model"]["merges"]:
        yield one.split(" ") if isinstance(one, str) else one


def _cut(told: Mapping[str, Any], kept: Sequence[int]) -> dict[str, Any]:
    """The tokenizer's description with these tokens alone, numbered anew."""
    number = {old: new for new, old in enumerate(kept)}
    names = {name: number[old] for name, old in told["model"]["vocab"].items() if old in number}
    merges = [list(pair) for pair in _merges(told) if all(name in names for name in (*pair, "".join(pair)))]
    added = [{**one, "id": number[one["id"]]} for one in told["added_tokens"] if one["id"] in number]
    return {**told, "added_tokens": added, "model": {**told["model"], "vocab": names, "merges": merges}}
