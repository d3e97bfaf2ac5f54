"""Training corpora as rows: gzip or plain JSONL under a folder that the caller names, each kind read into one record.

Column names of a corpus live here and nowhere else in this room.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from quintet.errors import InputError, UnknownName
from quintet_train.recipe import Source

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Document:
    text: str
    summary: str = ""


@dataclass(frozen=True)
class Dialogue:
    """Turns in order; `facts` has one text per turn or is empty."""

    turns: tuple[str, ...]
    facts: tuple[str, ...] = ()

    def fact(self, turn: int) -> str:
        return self.facts[turn] if turn < len(self.facts) else ""


@dataclass(frozen=True)
class Judged:
    """A sentence and whether it is acceptable."""

    text: str
    good: bool


@dataclass(frozen=True)
class Claim:
    """Two texts and whether the first follows from, or equals, the second; `task` says which question was asked."""

    claim: str
    basis: str
    yes: bool
    task: str


@dataclass(frozen=True)
class Marked:
    """A text, what it was held against, and places in it that one person called unsupported."""

    id: str
    person: str
    text: str
    context: str
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Rated:
    """A response with its ratings by quality, lists of numbers."""

    context: str
    response: str
    ratings: Mapping[str, tuple[float, ...]]
    origin: str = ""
    """The file it came from: scales differ between sets."""


Record = Document | Dialogue | Judged | Claim | Marked | Rated


def read(
    path: Path, kind: str, source: Source | None = None, facts: Path | None = None, seed: int = 0
) -> Iterator[Record]:
    """Records of one file; `source` says which of its rows are wanted, `facts` holds grounding texts."""
    if kind not in READERS:
        raise UnknownName("kind of rows", kind, READERS)
    make = READERS[kind]
    sections = _sections(facts) if facts is not None else {}
    for number, row in picked(path, source, seed) if source else lines(path):
        try:
            for record in make({**row, "sections": sections, "origin": path.name} if sections else row):
                yield replace(record, origin=path.name) if isinstance(record, Rated) else record
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"cannot read this row as {kind}: {error!r}", where=f"{path}:{number}") from None


def picked(path: Path, source: Source, seed: int) -> Iterator[tuple[int, Row]]:
    """Rows with their line numbers: without the sources to be left out, and of these the share that is wanted."""
    rng = Random(f"{seed}:{source.path}:{source.rows}")
    for number, row in lines(path):
        own = row.get("source")
        if own in source.skip_sources or (source.keep_sources and own not in source.keep_sources):
            continue
        if source.share >= 1 or rng.random() < source.share:
            yield number, row


def lines(path: Path) -> Iterator[tuple[int, Row]]:
    if not path.is_file():
        raise InputError("no such file", where=str(path), todo="name the corpora folder with --data FOLDER")
    opener: Callable[..., Any] = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except json.JSONDecodeError as error:
                raise InputError(f"not JSON ({error.msg})", where=f"{path}:{number}") from None
            if not isinstance(row, dict):
                raise InputError("not a JSON object", where=f"{path}:{number}")
            yield number, row


def digest(path: Path) -> str:
    """sha256 of the file as it lies there."""
    hasher = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            hasher.update(block)
    return hasher.hexdigest()


def _documents(row: Row) -> Iterator[Record]:
    summary = row.get("summary") or ""
    if not summary and row.get("summaries"):
        summary = row["summaries"][0]
    text = row["document"]
    if text.strip():
        yield Document(text, " ".join(summary.split("\n")))


def _dialogues(row: Row) -> Iterator[Record]:
    turns = tuple(turn if isinstance(turn, str) else turn[1] for turn in row["turns"])
    facts = tuple(row.get("facts") or ())
    if row.get("in_dd_test") or len(turns) < 2:
        return
    yield Dialogue(turns, facts)


def _sections(path: Path) -> dict[Any, dict[str, str]]:
    """CMU-DoG's documents: one text per section; the fields of a table are put one after another."""
    out: dict[Any, dict[str, str]] = {}
    for _, row in lines(path):
        texts = {}
        for number, section in row["sections"].items():
            whole = section.get("introduction") or "" if isinstance(section, dict) else section
            texts[number] = str(whole)
        out[row["doc"]] = texts
    return out


def _grounded_dialogues(row: Row) -> Iterator[Record]:
    """CMU-DoG: turns with the section both could read; messages that one speaker sends in a row are one turn."""
    turns: list[str] = []
    facts: list[str] = []
    speaker = None
    for who, text, section in row["turns"]:
        if who == speaker:
            turns[-1] += " " + " ".join(text.split())
        else:
            turns.append(" ".join(text.split()))
            facts.append(row["sections"].get(row["doc"], {}).get(str(section), ""))
        speaker = who
    if len(turns) > 1:
        yield Dialogue(tuple(turns), tuple(facts))


def _context_response(row: Row) -> Iterator[Record]:
    if row["context"] and row["response"]:
        yield Dialogue((row["context"], row["response"]))


def _sentences(row: Row) -> Iterator[Record]:
    if "good" in row and "bad" in row:
        yield Judged(row["good"], True)
        yield Judged(row["bad"], False)
    else:
        yield Judged(row["sentence"], bool(row["label"]))


def _nli(row: Row) -> Iterator[Record]:
    """Rows with labels that do not say whether the hypothesis follows are passed over."""
    if row["label"] in ("entailment", "neutral", "contradiction", "not_entailment"):
        yield Claim(row["hypothesis"], row["premise"], row["label"] == "entailment", "nli")


def _paraphrases(row: Row) -> Iterator[Record]:
    if row["label"] in (0, 1, True, False):
        task = "qqp" if row["s1"].strip().endswith("?") else "mrpc"
        yield Claim(row["s1"], row["s2"], bool(row["label"]), task)


def _questions(row: Row) -> Iterator[Record]:
    yield Claim(row["question"], row["passage"], bool(row["answer"]), "qa")
    for question, answer in row.get("perturbed", ()):
        yield Claim(question, row["passage"], answer in (True, "TRUE", "True", "true"), "qa")


def _strategies(row: Row) -> Iterator[Record]:
    """StrategyQA as its authors give it: what is asked about, and the facts that answer, are the basis."""
    facts = " ".join(" ".join(fact.split()) for fact in row["facts"])
    about = (" ".join(row[name].split()) for name in ("term", "description"))
    yield Claim(row["question"], "\n".join((*about, facts)), bool(row["answer"]), "strategy")


def _answers(row: Row) -> Iterator[Record]:
    """MultiRC's paragraphs with a question and a proposed answer: those that are answered by yes or no (UniEval)."""
    paragraph, _, asked = row["text"].rpartition("Question:")
    question, _, answer = asked.partition("Correct Answer:")
    said = answer.strip().rstrip(".").lower()
    if said in ("yes", "no"):
        context = " ".join(paragraph.removeprefix("Paragraph-").split())
        yield Claim(question.strip(), context, (said == "yes") == bool(row["correct"]), "qa")


def _marked(row: Row) -> Iterator[Record]:
    spans = tuple((int(start), int(end)) for start, end in row["spans"])
    yield Marked(str(row["id"]), str(row["person"]), row["output"], row["source"], spans)


def _ratings(row: Row) -> Iterator[Record]:
    ratings = {name: tuple(float(value) for value in values) for name, values in row["annotations"].items() if values}
    yield Rated(row.get("context") or "", row["response"], ratings)


READERS: Mapping[str, Callable[[Row], Iterator[Record]]] = {
    "documents": _documents,
    "dialogues": _dialogues,
    "grounded-dialogues": _grounded_dialogues,
    "context-response": _context_response,
    "sentences": _sentences,
    "nli": _nli,
    "paraphrases": _paraphrases,
    "questions": _questions,
    "answers": _answers,
    "strategies": _strategies,
    "marked": _marked,
    "ratings": _ratings,
}
