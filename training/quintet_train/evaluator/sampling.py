"""What language models write for training: how they are opened, how a token is drawn, whole batches of prompts.

Three kinds of texts are written with it: ends of claims (continuing.py), tellings (retelling.py), replies
(answering.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from quintet.errors import InputError
from quintet_train.evaluator.plain_decoding import Decoder
from quintet_train.evaluator.starting import LanguageStart, open_language_model

_CANDIDATES = 128
"""Tokens that sampling chooses among; the nucleus is hardly ever wider."""


@dataclass(frozen=True)
class WriterOptions:
    """What a recipe says of a language model that writes texts."""

    start: str
    """The language model, as `quintet train judge-lm --start` takes it; empty: the recipe's own, not yet trained."""
    about: str
    """Its name and licence, for the card."""

    table: ClassVar[str]
    """`[data.options.TABLE]` of the recipe."""

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in given.items()}
        try:
            return cls(**values)
        except TypeError as error:
            raise InputError(f"data.options.{cls.table}: {error}") from None


def opened(start: str, texts: Iterable[str], seed: int) -> LanguageStart:
    """`texts` teach a tiny model its words, which is drawn by the seed; nothing else that is random is touched."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return open_language_model(start, texts)


def drawn(logits: Tensor, nucleus: float, generator: torch.Generator) -> Tensor:
    """One token of each row, among the likeliest that together have the share `nucleus`."""
    values, tokens = logits.topk(min(_CANDIDATES, logits.shape[-1]), dim=-1)
    chances = torch.softmax(values, -1)
    before = chances.cumsum(-1) - chances
    chances = torch.where(before < nucleus, chances, 0.0)
    return tokens.gather(1, torch.multinomial(chances, 1, generator=generator))[:, 0]


def prompted(start: LanguageStart, prompts: Iterable[str], longest: int | None = None) -> list[list[int]]:
    """Prompts as they are read, after the token that begins a text; of longer ones the end."""
    first = start.tokenizer.token_to_id(start.first)
    encoded = start.tokenizer.encode_batch(list(prompts), add_special_tokens=False)
    return [[first, *(one.ids if longest is None else one.ids[-longest:])] for one in encoded]


def by_length(prompts: Sequence[Sequence[int]], batch: int) -> list[list[int]]:
    """Numbers of prompts in batches of like length, the shortest first."""
    order = sorted(range(len(prompts)), key=lambda place: len(prompts[place]))
    return [order[begin : begin + batch] for begin in range(0, len(order), batch)]


@torch.no_grad()
def written(
    start: LanguageStart, prompts: Sequence[Sequence[int]], temperatures: Sequence[float], new_tokens: int,
    nucleus: float, batch: int, device: torch.device, seed: int,
) -> list[str]:  # fmt: skip
    """How each prompt goes on, in their order."""
    decoder = Decoder(start.network, device)
    generator = torch.Generator(device).manual_seed(seed)
    out = [""] * len(prompts)
    for rows in by_length(prompts, batch):
        heat = torch.tensor([temperatures[row] for row in rows], device=device)[:, None]
        begun = decoder.begun([prompts[row] for row in rows], new_tokens)
        state, tokens = begun.state, list[Tensor]()
        for step in range(new_tokens):
            tokens.append(drawn(decoder.logits(state) / heat, nucleus, generator))
            state = decoder.states(tokens[-1][:, None], (begun.lengths + step)[:, None], begun.read)[:, 0]
        texts = start.tokenizer.decode_batch(torch.stack(tokens, 1).tolist(), skip_special_tokens=False)
        for row, text in zip(rows, texts, strict=True):
            out[row] = text
    return out
