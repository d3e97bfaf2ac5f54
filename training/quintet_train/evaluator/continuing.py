"""Claims ended by a language model that has not read the document: what generators make up, in their own words.

Edits by rule leave traces that a judge learns in place of reading. Here the beginning of a true claim is kept and the
language model goes on, knowing nothing or one sentence of the document. What it then says is looked up in the document
(written_groups.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

import torch

from quintet.text.sentences import sentences
from quintet_train.evaluator import noise, sampling
from quintet_train.evaluator.groups import Times
from quintet_train.evaluator.language_texts import summary_form
from quintet_train.evaluator.starting import LanguageStart
from quintet_train.evaluator.tables import Continued, Document, Tables

_LEAST_WORDS = 6
_LONGEST_PROMPT = 160


@dataclass(frozen=True)
class Options(sampling.WriterOptions):
    table = "continuing"

    claims: int = 40_000
    """At most so many continuations."""
    new_tokens: int = 18
    nucleus: float = 0.9
    temperature: float = 0.9
    batch: int = 1024


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
    start = sampling.opened(options.start, texts, seed)
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


def sampled(
    start: LanguageStart, prompts: Sequence[str], options: Options, device: torch.device, seed: int
) -> list[str]:
    """How each prompt goes on, up to the end of its sentence."""
    ids = sampling.prompted(start, prompts, _LONGEST_PROMPT)
    heat = [options.temperature] * len(ids)
    return sampling.written(start, ids, heat, options.new_tokens, options.nucleus, options.batch, device, seed)


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
