"""Claims of documents as a teacher judges them: a larger model that has learnt to judge, and is not shipped.

Rules can say that a claim is true (it stands in the text) or false (its names do not), and a judge that learns from
them learns the rules. A teacher says how likely a claim is supported, for claims that no rule can judge: what
generators tell of a document (retelling.py), how they end a sentence they cannot know (continuing.py), summaries that
people wrote. Each is judged beside its nearest window and beside the beginning of the document.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from quintet.errors import InputError
from quintet.text.content_words import content_words
from quintet.text.runs import overlapping_runs
from quintet.train.evaluator import facts
from quintet.train.evaluator.groups import QUESTIONS, Group, Judged, Times
from quintet.train.evaluator.language_frame import LanguageFrame
from quintet.train.evaluator.lesson import Weights
from quintet.train.evaluator.packing import Packed, pack
from quintet.train.evaluator.shared_lesson import SharedLesson
from quintet.train.evaluator.tables import Document, Retold, Tables
from quintet.train.trainer import autocast

WINDOW_WORDS, SHARED_WORDS = 220, 70
"""Whole sentences of so many words, about what the encoder's big windows hold, and what two neighbours share."""
LICENCE = "written and judged by quintet's own models and TinyLlama (Apache-2.0)"
BEGINNING_WORDS = 600
"""What a language model is shown of a document, so that no evidence is cut off."""
SURE = 0.3
"""A word is wrong below this and right above one minus it; between them nobody knows."""
_ROW_TOKENS = 1536
_BATCH_TOKENS = 65536
_CON = list(QUESTIONS).index("con")


def windows(document: Document) -> list[str]:
    """Whole sentences that together have about WINDOW_WORDS, each sharing some with the one before."""
    runs = overlapping_runs([len(text.split()) for text in document.sentences], WINDOW_WORDS, SHARED_WORDS)
    return [" ".join(document.sentences[first:last]) for first, last in runs]


def beginning(document: Document) -> str:
    """Whole sentences of together at most BEGINNING_WORDS, but at least one."""
    words, out = 0, list[str]()
    for text in document.sentences:
        words += len(text.split())
        if out and words > BEGINNING_WORDS:
            break
        out.append(text)
    return " ".join(out)


def nearest(claim: str, shown: Sequence[frozenset[str]]) -> int:
    """The window that has most of the claim's content words; the first of several."""
    own = set(content_words(claim))
    return max(range(len(shown)), key=lambda place: (len(own & shown[place]), -place))


def words_of(texts: Iterable[str]) -> list[frozenset[str]]:
    return [frozenset(content_words(text)) for text in texts]


class Claim(NamedTuple):
    document: int
    text: str


def every_claim(tables: Tables, times: Times, rng: Random) -> Iterator[Claim]:
    """What is to be judged, each once a document: retold and continued claims, summaries, and for documents of the
    recipe's table `taught.plain` shortened sentences of the document, one in three of them edited."""
    known: set[tuple[int, str]] = set()
    for claim in _claims(tables, times, rng):
        key = (claim.document, claim.text.lower())
        if claim.text and key not in known:
            known.add(key)
            yield claim


def _claims(tables: Tables, times: Times, rng: Random) -> Iterator[Claim]:
    for told in tables.retold:
        yield Claim(told.document, told.claim)
    for made in tables.continued:
        yield Claim(made.document, made.kept + made.ending)
    for number, document in enumerate(tables.documents):
        if not document.sentences:
            continue
        if times.of("taught.summary", document.source):
            for text in document.summary:
                yield Claim(number, text)
        for _ in range(times.whole("taught.plain", document.source)):
            text = facts.shorten(rng.choice(document.read), rng)
            other = tables.documents[rng.randrange(len(tables.documents))]
            if rng.random() < 1 / 3:
                lent = [found.text for one in (*document.read, *other.read[:8]) for found in facts.names(one)]
                numbers = [found for one in document.read for found in facts.numbers(one)]
                edited = facts.falsify(text, rng, facts.Donors(lent, numbers))
                text = edited.text if edited else ""
            yield Claim(number, text)


@dataclass(frozen=True)
class Verdicts:
    """Of each text: log-odds of support, probabilities of entailment, and support of each word with its characters."""

    con: NDArray[np.float32]
    nli: NDArray[np.float32]
    words: list[NDArray[np.float32]]


def packed_pairs(pairs: Sequence[tuple[str, str]], frame: LanguageFrame) -> Packed:
    """(claim, grounds), in their order; those after the same grounds become neighbours in a row when they are read."""
    return pack((Group("con", [Judged(claim, grounds, 0.0)], False) for claim, grounds in pairs), frame)


@torch.no_grad()
def verdicts(network: Any, packed: Packed, device: torch.device, tokens: int = _BATCH_TOKENS) -> Verdicts:
    """What the network says of each text of `packed_pairs`."""
    lesson = SharedLesson(packed, Weights({}), 0.0, 0, _ROW_TOKENS)
    count = len(packed.labels)
    con, nli = np.zeros(count, np.float32), np.zeros((count, 3), np.float32)
    words: list[NDArray[np.float32]] = [np.zeros(0, np.float32)] * count
    network.eval()
    for groups in lesson.batches(0, 0, tokens):
        batch = lesson.batch(groups, device)
        with autocast(device, "auto"):
            answers = lesson.answers(network, batch)
        asked = answers.questions[:, _CON].float().cpu().numpy()
        entailed = answers.entailment.float().softmax(-1).cpu().numpy()
        supported = answers.words.float().sigmoid().cpu().numpy()
        # A group is one text, so the number of a group is the number of its text.
        for row, text in enumerate(groups):
            con[text], nli[text] = asked[row], entailed[row]
            words[text] = supported[row, : packed.outputs[text] - 1]
    return Verdicts(con, nli, words)


def judged(
    tables: Tables, claims: Sequence[Claim], network: Any, frame: LanguageFrame, device: torch.device
) -> list[Retold]:
    """The claims with what the teacher says of them."""
    found = verdicts(network, packed_pairs(list(beside_grounds(tables, claims)), frame), device)
    return told_by(tables, claims, found, frame.tokenizer)


def told_by(tables: Tables, claims: Sequence[Claim], found: Verdicts, tokenizer: Any) -> list[Retold]:
    """Means of what is said beside window and beginning. Teachers overlook names and figures, so those that the
    document lacks are looked up: each halves the chance, and is wrong."""
    chance = (1 / (1 + np.exp(-found.con)) + found.nli[:, 0]) / 2
    encoded = tokenizer.encode_batch([f" {claim.text}" for claim in claims], add_special_tokens=False)
    known: dict[int, facts.Known] = {}
    out = []
    for number, claim in enumerate(claims):
        both = slice(2 * number, 2 * number + 2)
        if claim.document not in known:
            known[claim.document] = facts.Known(tables.documents[claim.document].text)
        lacking = facts.strange_names(claim.text, known[claim.document])
        sure = float(chance[both].mean()) * 0.5 ** len(lacking)
        words = np.mean(found.words[both], axis=0)
        out.append(_told(claim, sure, words, encoded[number].offsets, lacking))
    return out


class Shown(NamedTuple):
    """What is shown of a document."""

    windows: list[str]
    words: list[frozenset[str]]
    beginning: str

    @staticmethod
    def of(document: Document) -> Shown:
        found = windows(document)
        return Shown(found, words_of(found), beginning(document))


def beside_grounds(tables: Tables, claims: Iterable[Claim]) -> Iterator[tuple[str, str]]:
    """Two for each claim: beside its nearest window, and beside the beginning of the document."""
    shown: dict[int, Shown] = {}
    for claim in claims:
        if claim.document not in shown:
            shown[claim.document] = Shown.of(tables.documents[claim.document])
        own = shown[claim.document]
        yield claim.text, own.windows[nearest(claim.text, own.words)]
        yield claim.text, own.beginning


def _told(
    claim: Claim,
    chance: float,
    words: NDArray[np.float32],
    places: Sequence[tuple[int, int]],
    lacking: Sequence[tuple[int, int]] = (),
) -> Retold:
    """Characters are those of the claim, not of the blank before it."""
    spans = [(max(0, start - 1), end - 1) for start, end in places[: len(words)]]
    wrong = [span for span, value in zip(spans, words, strict=False) if value < SURE]
    unsure = [
        (start, end)
        for (start, end), value in zip(spans, words, strict=False)
        if SURE <= value <= 1 - SURE and not any(start < last and end > first for first, last in lacking)
    ]
    return Retold(claim.document, claim.text, round(chance, 4), _joined(sorted([*wrong, *lacking])), _joined(unsure))


def _joined(spans: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Neighbours as one."""
    out: list[tuple[int, int]] = []
    for start, end in spans:
        if out and start <= out[-1][1] + 1:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return tuple(out)


def key_of(document: Document) -> str:
    """Names a document whatever else a recipe reads."""
    return hashlib.blake2b(document.text.encode(), digest_size=8).hexdigest()


def save(tables: Tables, told: Sequence[Retold], path: Path) -> None:
    """Gzip JSONL, whole or not at all. Documents are named, not copied."""
    part, keys = path.with_suffix(".part"), dict[int, str]()
    with part.open("wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as file:  # same claims, same bytes
        for one in told:
            key = keys.setdefault(one.document, key_of(tables.documents[one.document]))
            line = json.dumps({"document": key, "claim": one.claim, "supported": one.supported,
                               "wrong": one.wrong, "unsure": one.unsure})  # fmt: skip
            file.write(f"{line}\n".encode())
    part.replace(path)


def load(tables: Tables, path: Path) -> list[Retold]:
    """Of the documents that are among the tables."""
    if not path.is_file():
        raise InputError(
            "there are no judged claims", where=str(path), todo="make them with: quintet train judge-teacher"
        )
    number = {key_of(document): place for place, document in enumerate(tables.documents)}
    out = []
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            if row["document"] in number:
                wrong, unsure = (tuple((start, end) for start, end in row[name]) for name in ("wrong", "unsure"))
                out.append(Retold(number[row["document"]], row["claim"], row["supported"], wrong, unsure))
    if not out:
        raise InputError("none of the judged claims is about a document of this recipe", where=str(path))
    return out
