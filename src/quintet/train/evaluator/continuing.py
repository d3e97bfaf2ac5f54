"""Claims ended by a language model that has not read the document: what generators make up, in their own words.

Edits by rule leave traces that a judge learns in place of reading. Here the beginning of a true claim is kept and the
language model goes on, knowing nothing or one sentence of the document. What it then says is looked up in the document
(written_groups.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

import torch
from torch import Tensor

from quintet.errors import InputError
from quintet.text.sentences import sentences
from quintet.train.evaluator import noise
from quintet.train.evaluator.groups import Times
from quintet.train.evaluator.language_texts import summary_form
from quintet.train.evaluator.plain_decoding import Decoder
from quintet.train.evaluator.starting import LanguageStart, open_language_model
from quintet.train.evaluator.tables import Continued, Document, Tables

_LEAST_WORDS = 6
_LONGEST_PROMPT = 160
_CANDIDATES = 128
"""Tokens that sampling chooses among; the nucleus is hardly ever wider."""


@dataclass(frozen=True)
class Options:
    """`[data.options.continuing]` of the recipe."""

    start: str
    """The language model, as `quintet train judge-lm --start` takes it."""
    about: str
    """Its name and licence, for the card."""
    claims: int = 40_000
    """At most so many continuations."""
    new_tokens: int = 18
    nucleus: float = 0.9
    temperature: float = 0.9
    batch: int = 1024


def options_of(table: Mapping[str, Any]) -> Options:
    try:
        return Options(**table)
    except TypeError as error:
        raise InputError(f"data.options.continuing: {error}") from None


class Beginning(NamedTuple):
    document: int
    claim: str
    kept: str
    prompt: str
    hashed: bool


def continuations(
    options: Options, tables: Tables, times: Times, seed: int, device: torch.device, texts: Iterable[str] = ()
) -> list[Continued]:
    """Drawn by the seed; the same on the same machine. `texts` teach a tiny model its words."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        start = open_language_model(options.start, texts)
    begun = beginnings(tables, times, options.claims, Random(f"{seed}:beginnings"))
    endings = sampled(start, [one.prompt for one in begun], options, device, seed)
    out = []
    for one, ending in zip(begun, endings, strict=True):
        text = first_sentence(one.kept, ending)
        # Gigaword has no figures, only signs for them.
        text = re.sub(r"\d", "#", text) if one.hashed else text
        if len(text.split()) > 1:
            out.append(Continued(one.document, one.claim, one.kept, text))
    return out


def beginnings(tables: Tables, times: Times, limit: int, rng: Random) -> list[Beginning]:
    """Claims cut somewhere in the middle, after nothing or after one sentence of the document."""
    out = [
        begun
        for number, document in enumerate(tables.documents)
        for _ in range(times.whole("con.written", document.source) if document.sentences else 0)
        if (begun := _beginning(number, document, bool(times.of("con.summary", document.source)), rng)) is not None
    ]
    return rng.sample(out, limit) if len(out) > limit else out


def _beginning(number: int, document: Document, summarised: bool, rng: Random) -> Beginning | None:
    own = document.summary if summarised and (rng.random() < 0.75 or len(document.read) < 4) else document.read
    claim = rng.choice(own) if own else ""
    words = claim.split()
    if len(words) < _LEAST_WORDS:
        return None
    kept = " ".join(words[: rng.randrange(max(2, len(words) // 5), max(3, len(words) * 4 // 5))])
    draw = rng.random()
    shown = "" if draw < 0.3 else document.read[0] if draw < 0.7 else rng.choice(document.read)
    # A sentence that holds the claim would be copied to its end.
    shown = "" if claim in shown or shown in claim else shown
    return Beginning(number, claim, kept, f"{summary_form(shown)} {kept}", "#" in document.text)


@torch.no_grad()
def sampled(
    start: LanguageStart, prompts: Sequence[str], options: Options, device: torch.device, seed: int
) -> list[str]:
    """How each prompt goes on, up to the end of its sentence."""
    decoder = Decoder(start.network, device)
    generator = torch.Generator(device).manual_seed(seed)
    first = start.tokenizer.token_to_id(start.first)
    ids = [[first, *found.ids[-_LONGEST_PROMPT:]] for found in start.tokenizer.encode_batch(list(prompts))]
    order = sorted(range(len(ids)), key=lambda place: len(ids[place]))
    out = [""] * len(ids)
    for begin in range(0, len(order), options.batch):
        rows = order[begin : begin + options.batch]
        written = _written(decoder, [ids[row] for row in rows], options, generator)
        for row, text in zip(rows, start.tokenizer.decode_batch(written, skip_special_tokens=False), strict=True):
            out[row] = text
    return out


def _written(
    decoder: Decoder, prompts: Sequence[Sequence[int]], options: Options, generator: torch.Generator
) -> list[list[int]]:
    """New tokens of every prompt."""
    begun = decoder.begun(prompts, options.new_tokens)
    state, out = begun.state, []
    for step in range(options.new_tokens):
        token = drawn(decoder.logits(state) / options.temperature, options.nucleus, generator)
        out.append(token)
        state = decoder.states(token[:, None], (begun.lengths + step)[:, None], begun.read)[:, 0]
    written: list[list[int]] = torch.stack(out, 1).tolist()
    return written


def drawn(logits: Tensor, nucleus: float, generator: torch.Generator) -> Tensor:
    """One token of each row, among the likeliest that together have the share `nucleus`."""
    values, tokens = logits.topk(min(_CANDIDATES, logits.shape[-1]), dim=-1)
    chances = torch.softmax(values, -1)
    before = chances.cumsum(-1) - chances
    chances = torch.where(before < nucleus, chances, 0.0)
    return tokens.gather(1, torch.multinomial(chances, 1, generator=generator))[:, 0]


def first_sentence(kept: str, ending: str) -> str:
    """The ending, with what stands before its first word, up to the end of the sentence that was begun.

    If it breaks off, the last word may be half a word, and small words before it would only say that it broke off.
    """
    line = ending.partition("\n")[0].partition("<|")[0]
    begun = kept + line
    pieces = [piece for piece in sentences(begun) if piece.end > len(kept)]
    if not pieces or line[:1].isalnum():
        return ""
    told = begun[len(kept) : pieces[0].end]
    if line != ending or len(pieces) > 1 or told[-1] in ".!?":
        return told
    words = told.split(" ")[:-1]
    while words and words[-1].strip(",;:-()").lower() in noise.HANGING:
        words.pop()
    return " ".join(words).rstrip(" ,;:-(")
