"""UniEval's intermediate tasks: existing yes/no questions in the wording of the paper's Table 8, and its self-made one.

Opening sentences: is this the first sentence of the document? The document is shown without it, since otherwise the
answer could be read off by matching words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from random import Random

from quintet.text.sentences import sentences
from quintet_train.items import YesNoItem
from quintet_train.rows import Claim, Document, Judged, Record

TABLE8: Mapping[str, tuple[str, ...]] = {
    "nli": ("question: Is this a claim consistent with the premise?", "claim: {claim}", "premise: {basis}"),
    "mrpc": ("question: Is this sentence equivalent to the reference?", "sentence: {claim}", "reference: {basis}"),
    "qqp": (
        "question: Is the following question equivalent to the reference?",
        "question: {claim}",
        "reference: {basis}",
    ),
    "opening": (
        "question: Is this sentence the coherent first sentence of the document?",
        "sentence: {claim}",
        "document: {basis}",
    ),
    "cola": ("question: Is this a fluent and linguistically acceptable sentence?", "sentence: {claim}"),
    "qa": ("question: {claim}", "context: {basis}"),
    "strategy": ("question: {claim}", "term: {term}", "description of term: {description}", "facts: {facts}"),
}


_PLACE = re.compile(r"\{(\w+)\}")


def ask(task: str, claim: str, basis: str, yes: bool) -> YesNoItem:
    """Only the places of the template are filled; braces inside the texts stay as they are."""
    places = {"claim": claim, "basis": basis}
    if task == "strategy":
        places |= zip(("term", "description", "facts"), basis.split("\n", 2), strict=True)
    parts = tuple(_PLACE.sub(lambda place: places[place[1]], part) for part in TABLE8[task])
    return YesNoItem(parts, yes, task)


def intermediate(
    records: Sequence[Record], limit: int, rng: Random, *, tasks: Sequence[str] = tuple(TABLE8)
) -> list[YesNoItem]:
    """All tasks mixed; with a limit, each task gives its share of it (all it has, if that is less)."""
    by_task: dict[str, list[YesNoItem]] = {}
    for record in records:
        if isinstance(record, Claim):
            by_task.setdefault(record.task, []).append(ask(record.task, _mark(record), record.basis, record.yes))
        elif isinstance(record, Judged):
            by_task.setdefault("cola", []).append(ask("cola", record.text, "", record.good))
    by_task["opening"] = _openings([record for record in records if isinstance(record, Document)], rng)
    chosen = {task: items for task, items in by_task.items() if task in tasks and items}
    items: list[YesNoItem] = []
    for left, (_, own) in enumerate(sorted(chosen.items(), key=lambda pair: len(pair[1])), 1):
        rng.shuffle(own)
        share = (limit - len(items)) // (len(chosen) - left + 1) if limit else len(own)
        items += own[:share]
    rng.shuffle(items)
    return items


def _mark(record: Claim) -> str:
    """BoolQ writes its questions without the mark."""
    return (
        record.claim
        if record.task not in ("qa", "strategy") or record.claim.rstrip().endswith("?")
        else f"{record.claim.rstrip()}?"
    )


def _openings(documents: Sequence[Document], rng: Random) -> list[YesNoItem]:
    split = [[piece.text for piece in sentences(document.text)] for document in documents]
    usable = [parts for parts in split if len(parts) > 1]
    items: list[YesNoItem] = []
    for index, parts in enumerate(usable):
        rest = " ".join(parts[1:])
        items.append(ask("opening", parts[0], rest, True))
        others = [i for i in range(len(usable)) if i != index and usable[i][0] != parts[0]]
        if others:
            items.append(ask("opening", usable[rng.choice(others)][0], rest, False))
    return items
