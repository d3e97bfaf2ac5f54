"""What the language model reads: history and fact before a reply, a document before its summary, slots before a text.

The forms are those in which the product asks it: `FACT\\n\\n- turn\\n- turn\\n- reply`, `DOCUMENT\\n\\nTL;DR: summary`,
`SLOTS\\n=> text`. Every piece that carries loss begins with a blank and ends with a line break.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quintet_train.evaluator.data_groups import written
from quintet_train.evaluator.groups import Times
from quintet_train.evaluator.tables import Described, Dialogue, Document, Tables

DIALOGUE, SUMMARY, DESCRIPTION = KINDS = ("dialogue", "summary", "description")
MAX_TOKENS = 1536
_DOCUMENT_WORDS = 1100
_FACT_WORDS = 220


class Reading(NamedTuple):
    before: str
    pieces: tuple[str, ...]
    """Carry the loss; a turn mark stands between two."""
    origin: int = 0
    """Number of the dialogue, document or record: what is held out is held out in every form."""
    kind: str = DIALOGUE
    """One of KINDS: what a recipe's shares of context and of anchoring go by."""


def dialogue_form(turns: Sequence[str], fact: str = "") -> str:
    return (f"{fact.strip()}\n\n" if fact else "") + "".join(f"- {turn}\n" for turn in turns) + "-"


def summary_form(document: str) -> str:
    return (f"{document.strip()}\n\n" if document else "") + "TL;DR:"


def data_form(slots: str) -> str:
    return (f"{slots.strip()}\n" if slots else "") + "=>"


def readings(tables: Tables, times: Times, rng: Random) -> Iterator[Reading]:
    for origin, (kind, found) in enumerate(_of_each(tables, times, rng)):
        for reading in found:
            yield reading._replace(origin=origin, kind=kind)


def _of_each(tables: Tables, times: Times, rng: Random) -> Iterator[tuple[str, Iterable[Reading]]]:
    for dialogue in tables.dialogues:
        yield DIALOGUE, _of_dialogue_often(dialogue, times, rng)
    for document in tables.documents:
        yield SUMMARY, _of_document(document, times, rng)
    for described in tables.described:
        yield DESCRIPTION, _of_described(described, rng)


def _of_described(described: Described, rng: Random) -> Iterator[Reading]:
    if described.slots and rng.random() < 0.6:
        text = rng.choice(described.texts)
        text = text.lower() if rng.random() < 0.4 else text
        yield Reading(data_form(written(described.slots, rng)), (f" {text}\n",))
        if rng.random() < 0.2:
            yield Reading(data_form(""), (f" {text}\n",))


def _of_dialogue_often(dialogue: Dialogue, times: Times, rng: Random) -> Iterator[Reading]:
    if rng.random() < 1 - times.of("lm.share", dialogue.source):
        return
    for _ in range(times.whole("lm.dialogues", dialogue.source)):
        yield from _of_dialogue(dialogue, times, rng)


def _of_dialogue(dialogue: Dialogue, times: Times, rng: Random) -> Iterator[Reading]:
    """A stretch of turns; and, where there are facts, one turn after its speaker's fact."""
    lower, every = rng.random() < 0.45, dialogue.turns
    count = len(every) if len(every) <= 10 else rng.randrange(6, 13)
    first = 0 if len(every) <= count else rng.randrange(len(every) - count)
    turns = [turn.lower() if lower else turn for turn in every[first : first + count]]
    if dialogue.facts and rng.random() < 0.75:
        side = rng.randrange(2)
        grounded = [i for i in range(len(turns)) if (first + i) % 2 == side and dialogue.facts[first + i]]
        if grounded:
            place = rng.choice(grounded)
            fact = " ".join(dialogue.facts[first + place].split()[:_FACT_WORDS])
            fact = fact.lower() if lower else fact
            history = turns[max(0, place - rng.choice([0, 1, 1, 2, 3, 6])) : place]
            sections = times.of("sections", dialogue.source)
            if sections and rng.random() < sections:
                fact = _best_sentence(fact, turns[place])
            yield Reading(dialogue_form(history, fact), (f" {turns[place]}\n",))
    yield Reading(dialogue_form([]), tuple(f" {turn}\n" for turn in turns))


def _best_sentence(fact: str, turn: str) -> str:
    wanted = set(turn.lower().split())
    return max(re.split(r"(?<=[.!?]) ", fact), key=lambda one: len(wanted & set(one.lower().split())))


def _of_document(document: Document, times: Times, rng: Random) -> Iterator[Reading]:
    if not document.read or not document.summary:
        return
    share = times.of("lm.share", document.source)
    if share < 1 and rng.random() < 1 - share:
        return
    whole = times.whole("lm.whole", document.source)
    summary = " ".join(document.summary) if whole else document.summary[0]
    text = " ".join(document.text.split()[:_DOCUMENT_WORDS])
    draw = rng.random()
    if draw < 0.25:
        summary = summary.lower()
    if draw < 0.1:
        text = text.lower()
    for _ in range(times.whole("lm.documents", document.source)):
        yield Reading(summary_form(text), (f" {summary}\n",))
    if rng.random() < 0.3:
        yield Reading(summary_form(""), (f" {summary}\n",))


class Tokens(NamedTuple):
    ids: NDArray[np.uint16]
    counted: NDArray[np.bool_]
    """Whether the token carries loss."""
    origin: int = 0
    kind: str = DIALOGUE


def tokenised(found: Sequence[Reading], tokenizer: Any, start: int) -> list[Tokens]:
    """Each piece is tokenised by itself, as the product tokenises what is scored apart from what stands before it."""
    texts: list[str] = []
    counted: list[bool] = []
    sizes = []
    for reading in found:
        own = [(reading.before, False)]
        for place, piece in enumerate(reading.pieces):
            own += [("-", False), (piece, True)] if place else [(piece, True)]
        texts += [text for text, _ in own]
        counted += [counts for _, counts in own]
        sizes.append(len(own))
    encoded = tokenizer.encode_batch(texts, add_special_tokens=False)
    out, place = [], 0
    for reading, size in zip(found, sizes, strict=True):
        ids, flags = [start], [False]
        for one, counts in zip(encoded[place : place + size], counted[place : place + size], strict=True):
            ids += one.ids
            flags += [counts] * len(one.ids)
        place += size
        if any(flags[:MAX_TOKENS]):
            kept, carry = np.array(ids[:MAX_TOKENS], np.uint16), np.array(flags[:MAX_TOKENS])
            out.append(Tokens(kept, carry, reading.origin, reading.kind))
    return out
