"""Groups of what language models told of documents (retelling.py), beside what people wrote: only a teacher can say how
good each is, so without one nothing is learnt of them."""

from __future__ import annotations

from collections.abc import Iterator

from quintet.text.sentences import sentences
from quintet_train.evaluator.groups import UNTOLD, Group, Judged, Material, part_of
from quintet_train.evaluator.text_groups import Passage, broken

_BESIDE = ("cohd", "rel")
"""Heads that see the document."""
HEADS = (*_BESIDE, "coh", "acc")
_TELLINGS = 3
_LEAD = 3


def told_texts(material: Material, part: int, parts: int) -> Iterator[Group]:
    """As often as the recipe's tables `told.HEAD` say: tellings of a document, one of them broken, its summary and its
    first sentences."""
    tables, rng, times = material.tables, material.rng, material.times
    by_document: dict[int, list[str]] = {}
    for one in tables.told:
        by_document.setdefault(one.document, []).append(one.text)
    for number in part_of(len(tables.documents), part, parts):
        own, document = by_document.get(number), tables.documents[number]
        if not own or not tables.body[number].size:
            continue
        for head in HEADS:
            grounds = " ".join(document.read) if head in _BESIDE else ""
            for _ in range(times.drawn(f"told.{head}", document.source, rng)):
                texts = _texts(material, number, rng.sample(own, min(_TELLINGS, len(own))), head in _BESIDE)
                yield Group(head, [Judged(material.styled(text), grounds, UNTOLD) for text in texts])


def _texts(material: Material, number: int, tellings: list[str], beside: bool) -> list[str]:
    tables, document = material.tables, material.tables.documents[number]
    said = [piece.text for piece in sentences(material.rng.choice(tellings))]
    worse = " ".join(broken(material, Passage(said, tables.body[number], number, beside)))
    every = [*tellings, worse, " ".join(document.summary), " ".join(document.read[:_LEAD])]
    return [text for text in dict.fromkeys(every) if text]
