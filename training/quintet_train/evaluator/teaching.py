"""Claims of documents as a teacher judges them: a larger model that has learnt to judge, and is not shipped.

Rules can say that a claim is true (it stands in the text) or false (its names do not), and a judge that learns from
them learns the rules. A teacher says how likely a claim is supported, for claims that no rule can judge: what
generators tell of a document (retelling.py), how they end a sentence they cannot know (continuing.py), summaries that
people wrote. Each is judged beside the beginning of the document and, where that is not all of it, beside its nearest
window. Of other texts a teacher says how likely the answer to their question is yes (`relabelled`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from quintet.errors import InputError
from quintet.text.content_words import content_words
from quintet.text.runs import overlapping_runs
from quintet_train.evaluator import facts
from quintet_train.evaluator.groups import HEADS, HELD, QUESTIONS, Group, Judged, Times
from quintet_train.evaluator.language_frame import LanguageFrame
from quintet_train.evaluator.lesson import NLI, Weights
from quintet_train.evaluator.packing import Packed, pack
from quintet_train.evaluator.shared_lesson import SharedLesson
from quintet_train.evaluator.tables import Document, Retold, Tables
from quintet_train.evaluator.written_texts import key_of, read_lines, write_lines
from quintet_train.trainer import autocast

WINDOW_WORDS, SHARED_WORDS = 220, 70
"""Whole sentences of so many words, about what the encoder's big windows hold, and what two neighbours share."""
LICENCE = "written and judged by quintet's own models and a larger one (TinyLlama or Qwen2.5-Coder: Apache-2.0)"
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
    """Of each text: log-odds of its own question (of support, if it was asked for entailment), probabilities of
    entailment, and support of each of its tokens."""

    asked: NDArray[np.float32]
    nli: NDArray[np.float32]
    words: list[NDArray[np.float32]]


def packed_pairs(pairs: Sequence[tuple[str, str]], frame: LanguageFrame) -> Packed:
    """(claim, grounds), in their order; those after the same grounds become neighbours in a row when they are read."""
    return pack((Group("con", [Judged(claim, grounds, 0.0)], False) for claim, grounds in pairs), frame)


@torch.no_grad()
def verdicts(network: Any, packed: Packed, device: torch.device, tokens: int = _BATCH_TOKENS) -> Verdicts:
    """What the network says of each text."""
    lesson = SharedLesson(packed, Weights({}), 0.0, 0, _ROW_TOKENS)
    count = len(packed.labels)
    asked, nli = np.zeros(count, np.float32), np.zeros((count, 3), np.float32)
    words: list[NDArray[np.float32]] = [np.zeros(0, np.float32)] * count
    own = np.where(packed.heads == NLI, _CON, packed.heads)
    network.eval()
    for groups in lesson.batches(0, 0, tokens):
        batch = lesson.batch(groups, device)
        with autocast(device, "auto"):
            answers = lesson.answers(network, batch)
        questions = answers.questions.float().cpu().numpy()
        entailed = answers.entailment.float().softmax(-1).cpu().numpy()
        supported = answers.words.float().sigmoid().cpu().numpy()
        for row, text in enumerate(lesson.texts(groups)):
            asked[text], nli[text] = questions[row, own[text]], entailed[row]
            words[text] = supported[row, : packed.outputs[text] - 1]
    return Verdicts(asked, nli, words)


def chances(odds: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
    """Of log-odds."""
    out: NDArray[np.floating[Any]] = 1 / (1 + np.exp(-odds))
    return out


@dataclass(frozen=True)
class Teacher:
    """A larger language model that has learnt to judge, and what it is asked about a smaller one's examples."""

    network: Any
    frame: LanguageFrame
    heads: tuple[str, ...]
    share: float = 0.5
    """Of a label that is the teacher's; the rest is the builder's own."""
    heat: float = 2.0
    """Log-odds are divided by it: what the teacher is sure of stays a matter of degree."""

    def relabelled(self, own: Packed, read: Packed, device: torch.device) -> Packed:
        """`own` with the teacher's labels; `read` are the same texts as the teacher reads them."""
        network = self.network.to(device)
        odds = verdicts(network, read, device).asked
        network.to("cpu")
        return relabelled(own, chances(odds / self.heat), self.heads, self.share)


def relabelled(packed: Packed, chances: NDArray[np.floating[Any]], heads: Collection[str], share: float) -> Packed:
    """Texts of these heads with `share` of the teacher's chance and the rest of their own label. Labels that only rank,
    and those that only a teacher can give, are the teacher's; what is only held stays so."""
    told = np.isin(packed.heads, [HEADS.index(name) for name in heads]) & (packed.labels != HELD)
    own = np.where(packed.labels >= 0, packed.labels, chances)
    labels = np.where(told, share * chances + (1 - share) * own, packed.labels)
    return replace(packed, labels=labels.astype(np.float32))


def judged(
    tables: Tables, claims: Sequence[Claim], network: Any, frame: LanguageFrame, device: torch.device
) -> list[Retold]:
    """The claims with what the teacher says of them."""
    grounds = list(beside_grounds(tables, claims))
    pairs = [(claim.text, text) for claim, texts in zip(claims, grounds, strict=True) for text in texts]
    found = verdicts(network, packed_pairs(pairs, frame), device)
    return told_by(tables, claims, [len(texts) for texts in grounds], found, frame.tokenizer)


def told_by(
    tables: Tables, claims: Sequence[Claim], counts: Sequence[int], found: Verdicts, tokenizer: Any
) -> list[Retold]:
    """`counts`: beside how many grounds each claim was judged; the mean of what is said counts. Teachers overlook names
    and figures, so those that the document lacks are looked up: each halves the chance, and is wrong."""
    chance = (chances(found.asked) + found.nli[:, 0]) / 2
    encoded = tokenizer.encode_batch([f" {claim.text}" for claim in claims], add_special_tokens=False)
    known: dict[int, facts.Known] = {}
    out, end = [], 0
    for number, (claim, count) in enumerate(zip(claims, counts, strict=True)):
        own = slice(end, end + count)
        end += count
        if claim.document not in known:
            known[claim.document] = facts.Known(tables.documents[claim.document].text)
        lacking = facts.strange_names(claim.text, known[claim.document])
        sure = float(chance[own].mean()) * 0.5 ** len(lacking)
        words = np.mean(found.words[own], axis=0)
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


def beside_grounds(tables: Tables, claims: Iterable[Claim]) -> Iterator[list[str]]:
    """What each claim is judged beside: the beginning of its document, and its nearest window where there is more."""
    shown: dict[int, Shown] = {}
    for claim in claims:
        if claim.document not in shown:
            shown[claim.document] = Shown.of(tables.documents[claim.document])
        own, whole = shown[claim.document], tables.documents[claim.document].text
        nearby = [] if own.beginning == whole else [own.windows[nearest(claim.text, own.words)]]
        yield [*nearby, own.beginning]


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


def save(tables: Tables, told: Sequence[Retold], path: Path) -> None:
    """Documents are named, not copied."""
    keys: dict[int, str] = {}
    for one in told:
        keys.setdefault(one.document, key_of(tables.documents[one.document]))
    rows = (
        {"document": keys[one.document], "claim": one.claim, "supported": one.supported, "wrong": one.wrong,
         "unsure": one.unsure}
        for one in told
    )  # fmt: skip
    write_lines(rows, path)


def load(tables: Tables, path: Path) -> list[Retold]:
    """Of the documents that are among the tables."""
    number = {key_of(document): place for place, document in enumerate(tables.documents)}
    out = []
    for row in read_lines(path, "judged claims"):
        if row["document"] in number:
            wrong, unsure = (tuple((start, end) for start, end in row[name]) for name in ("wrong", "unsure"))
            out.append(Retold(number[row["document"]], row["claim"], row["supported"], wrong, unsure))
    if not out:
        raise InputError("none of the judged claims is about a document of this recipe", where=str(path))
    return out
