"""Rows of a corpus as records of the evaluator's tables: one reader for each shape that a recipe may name.

Text is detokenised at the door, as the product does before it judges. Column names live here and nowhere else.
"""

from __future__ import annotations

import ast
import multiprocessing
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

from quintet.errors import InputError, UnknownName
from quintet.text.detokenise import detokenise
from quintet.text.sentences import sentences
from quintet_train import rows
from quintet_train.evaluator.dialogue_corpora import DIALOGUE_READERS, read_sections
from quintet_train.evaluator.tables import (
    Acceptable,
    Described,
    Document,
    Ending,
    Entailment,
    MinimalPair,
    Preference,
    Record,
    Similarity,
    Slot,
    Story,
    Translation,
)
from quintet_train.evaluator.verified_corpora import VERIFIED_READERS
from quintet_train.recipe import Source

Row = Mapping[str, Any]
Reader = Callable[[Row, str], Iterable[Record]]
"""A row and what its texts are called in the recipe's tables of shares."""
_MEETING_WORDS = 900


def read_all(sources: Sequence[Source], folder: Path, seed: int, processes: int) -> Iterator[list[Record]]:
    """Records of every source in order, on several cores."""
    for source in sources:
        _check_kind(source)
    jobs = [(source, folder, seed) for source in sources]
    if min(processes, len(jobs)) < 2:
        yield from map(_whole, jobs)
        return
    # A fork would inherit the locks of libraries whose threads it does not inherit, and may wait for ever.
    with ProcessPoolExecutor(min(processes, len(jobs)), multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(_whole, jobs)


def _whole(job: tuple[Source, Path, int]) -> list[Record]:
    source, folder, seed = job
    return list(islice(read(source, folder, seed), source.limit or None))


def _check_kind(source: Source) -> dict[str, Reader]:
    known: dict[str, Reader] = {**READERS, **DIALOGUE_READERS, **VERIFIED_READERS}
    if source.rows not in (*known, "similarity-ratings"):
        raise UnknownName("kind of rows", source.rows, [*known, "similarity-ratings"])
    return known


def read(source: Source, folder: Path, seed: int) -> Iterator[Record]:
    """Records of one source of a recipe; a row that cannot be read is named by file and line."""
    known = _check_kind(source)
    path = folder / source.path
    found = rows.picked(path, source, seed)
    if source.rows == "similarity-ratings":
        yield from _rated_similarities(row for _, row in found)
        return
    reader = known[source.rows]
    extra = {"sections": read_sections(folder / source.facts)} if source.facts else {}
    for number, row in found:
        name = source.name or str(row.get("source") or path.name.partition(".")[0])
        try:
            yield from reader({**row, **extra}, name)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise InputError(f"cannot read this row as {source.rows}: {error!r}", where=f"{path}:{number}") from None


def split(text: str) -> tuple[str, ...]:
    """Sentences; every line is detokenised by itself and ends one."""
    lines = [detokenise(line) for line in text.split("\n") if line.strip()]
    return tuple(piece.text for piece in sentences("\n".join(lines), "line"))


def _lines(text: str) -> tuple[str, ...]:
    return tuple(detokenise(line) for line in text.split("\n") if line.strip())


def _document(row: Row, name: str) -> Iterator[Record]:
    """`summary` (or the first two `summaries`) with one sentence or highlight a line."""
    summary = _lines(row["summary"]) if "summary" in row else tuple(detokenise(one) for one in row["summaries"][:2])
    if row["document"].strip() and any(summary):
        yield Document(name, split(row["document"]), summary)


def _extract(row: Row, name: str) -> Iterator[Record]:
    """BBC: extracted sentences run into one another without a blank."""
    spaced = re.sub(r"([.!?\"])(?=[A-Z\"])", r"\1 ", detokenise(row["summary"]))
    yield Document(name, split(row["document"]), tuple(piece.text for piece in sentences(spaced, "line")))


def _abstract(row: Row, name: str) -> Iterator[Record]:
    yield Document(name, split("\n".join(row["source"])), (detokenise(row["target"][0]),))


def _headline(row: Row, name: str) -> Iterator[Record]:
    if "UNK" not in row["summary"]:
        yield Document(name, split(row["document"]), (detokenise(row["summary"]),))


def _meeting_summaries(row: Row, name: str) -> Iterator[Record]:
    """Answers to questions about a meeting; the stretch that they are about where it is not too long."""
    for _, answer in row["general"][:1]:
        yield Document(name, (), split(answer))
    for _, answer, spans in row["specific"]:
        turns = row["turns"][int(spans[0][0]) : int(spans[-1][1]) + 1]
        told = "\n".join(f"{speaker}: {detokenise(text)}" for speaker, text in turns)
        yield Document(name, split(told) if len(told.split()) < _MEETING_WORDS else (), split(answer))


def _story(row: Row, name: str) -> Iterator[Record]:
    yield Story(tuple(map(detokenise, row["sentences"])))


def _ending(row: Row, name: str) -> Iterator[Record]:
    yield Ending(tuple(map(detokenise, [*row["context"], row["ending"]])), bool(row["coherent"]))


def _entailment(row: Row, name: str) -> Iterator[Record]:
    yield Entailment(name, detokenise(row["premise"]), detokenise(row["hypothesis"]), str(row["label"]))


def _scored_pair(row: Row, name: str) -> Iterator[Record]:
    """Similarity from 0 to 5."""
    score = row["score"] if "score" in row else row["label"]
    if score is not None:
        yield Similarity(name, detokenise(row["s1"]), detokenise(row["s2"]), round(float(score) / 5, 3))


_SAME = {"paws": (0.95, 0.4), "mrpc": (0.85, 0.5)}
"""What yes and no are worth: PAWS turns words round, MRPC's pairs share most of what they say even where it says no."""


def _paraphrase(row: Row, name: str) -> Iterator[Record]:
    yes, no = _SAME.get(name, (0.9, 0.4))
    same = str(row["label"]).lower() in ("1", "true", "yes")
    yield Similarity(name, detokenise(row["s1"]), detokenise(row["s2"]), yes if same else no)


def _rated_similarities(found: Iterable[Row]) -> Iterator[Record]:
    """ParaBank: ratings of several people for one pair, by similarity (0 to 100) and grammar (0 to 2)."""
    ratings: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for row in found:
        one = (float(row["similarity"]), float(row["grammar"]))
        ratings.setdefault((row["reference"], row["candidate"]), []).append(one)
    for (reference, candidate), own in ratings.items():
        similarity = round(sum(one for one, _ in own) / len(own) / 100, 3)
        grammar = round(sum(other for _, other in own) / len(own) / 2, 3)
        yield Similarity("parabank", detokenise(candidate), detokenise(reference), similarity, grammar)


def _translation(row: Row, name: str) -> Iterator[Record]:
    marks = "".join("1" if tag == "OK" else "0" for tag in (row["word_tags"] or "").split())
    yield Translation(row["mt"], detokenise(row["pe"]), row["da_mean"], row["hter"], row["mt_tok"], marks)


def _preference(row: Row, name: str) -> Iterator[Record]:
    yield Preference(detokenise(row["ref"]), detokenise(row["better"]), detokenise(row["worse"]))


def _minimal_pair(row: Row, name: str) -> Iterator[Record]:
    if row["good"] != row["bad"]:
        yield MinimalPair(detokenise(row["good"])[:600], detokenise(row["bad"])[:600])


def _judged_sentence(row: Row, name: str) -> Iterator[Record]:
    yield Acceptable(detokenise(row["sentence"]), int(row["label"]))


def _query(row: Row, name: str) -> Iterator[Record]:
    yield Acceptable(row["query"], round(float(row["score"]), 2), thinned=True)


_CHANGED_SENTENCES = {"task428": ("Inversion", 0.1), "task515": ("Changed", 0.3), "task516": ("Inversion", 0.35)}
"""SentEval's tasks: the answer that says a sentence was changed, and how good it still is."""


def _changed_sentence(row: Row, name: str) -> Iterator[Record]:
    answer, value = _CHANGED_SENTENCES.get(row["t"].partition("_")[0], ("", 0.0))
    if answer:
        yield Acceptable(detokenise(row["i"]), value if row["o"][0] == answer else 1.0, thinned=True)


def _described(row: Row, name: str) -> Iterator[Record]:
    slots = slots_of(row["input"])
    yield Described(name, tuple(slots), tuple(detokenise(text) for text in row["refs"][:3]))


def _acts(row: Row, name: str) -> Iterator[Record]:
    """The system's turns of task-oriented dialogues, with their acts."""
    for speaker, text, acts in row["turns"]:
        if speaker == "SYSTEM" and acts:
            yield Described(name, tuple(_act_slots(acts)), (detokenise(text),))


def _act_slots(acts: Sequence[Any]) -> Iterator[Slot]:
    for act, slot, values in acts:
        if values and slot != "intent":
            yield from (Slot(act.lower(), slot, value) for value in values[:2])
        else:
            yield Slot(act.lower(), slot, "")


def slots_of(written: str) -> list[Slot]:
    """`name[value], …` (E2E) or a list of triples (DART); nothing for what is neither."""
    pairs = re.findall(r"([\w ]+)\[([^\]]*)\]", written)
    if pairs and not written.lstrip().startswith("["):
        return [Slot("inform", name.strip(), value) for name, value in pairs]
    try:
        triples = ast.literal_eval(written)
    except (ValueError, SyntaxError):
        return []
    out: list[Slot] = []
    for triple in triples:
        if len(triple) != 3:
            continue
        subject, relation, value = (str(part).replace("_", " ") for part in triple)
        if not out:
            out.append(Slot("inform", "name", subject))
        elif subject != out[0].value:
            out.append(Slot("inform", "subject", subject))
        out.append(Slot("inform", relation.lower(), value))
    return out


READERS: Mapping[str, Reader] = {
    "documents": _document,
    "extracts": _extract,
    "abstracts": _abstract,
    "headlines": _headline,
    "meeting-summaries": _meeting_summaries,
    "stories": _story,
    "story-endings": _ending,
    "nli": _entailment,
    "similarity": _scored_pair,
    "paraphrases": _paraphrase,
    "translations": _translation,
    "preferences": _preference,
    "minimal-pairs": _minimal_pair,
    "judged-sentences": _judged_sentence,
    "queries": _query,
    "changed-sentences": _changed_sentence,
    "described": _described,
    "dialogue-acts": _acts,
}
