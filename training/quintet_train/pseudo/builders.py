"""The table of data builders: a recipe names one, its options are the builder's keyword arguments."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from quintet.errors import InputError, UnknownName
from quintet_train.items import Item
from quintet_train.pseudo import ctc, gruen, im2, unieval, unieval_tasks, usr
from quintet_train.rows import Record

Builder = Callable[..., list[Any]]

BUILDERS: Mapping[str, Builder] = {
    "ctc.words": ctc.words,
    "ctc.targets": ctc.targets,
    "ctc.human_words": ctc.human_words,
    "usr.mlm": usr.mlm,
    "usr.retrieval": usr.retrieval,
    "unieval.intermediate": unieval_tasks.intermediate,
    "unieval.summarization": unieval.summarization,
    "unieval.dialogue": unieval.dialogue,
    "gruen.acceptability": gruen.acceptability,
    "gruen.order": gruen.order,
    "im2.vup": im2.vup,
    "im2.five_classes": im2.five_classes,
    "im2.swapped": im2.swapped,
    "im2.nearest": im2.nearest,
    "im2.responses": im2.responses,
    "im2.ranking": im2.ranking,
}


def build(name: str, records: Sequence[Record], limit: int, seed: int, options: Mapping[str, Any]) -> list[Item]:
    """Items in a seeded order; `limit` 0 takes all that the corpus gives."""
    if name not in BUILDERS:
        raise UnknownName("data builder", name, BUILDERS)
    builder = BUILDERS[name]
    known = [p.name for p in inspect.signature(builder).parameters.values() if p.kind is p.KEYWORD_ONLY]
    for key in options:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known) or 'none'}"
            raise InputError(f"{name} has no option {key}", todo=hint)
    items: list[Item] = builder(records, limit, Random(seed), **options)
    if not items:
        raise InputError(f"{name} made no training item from {len(records)} rows", todo="look at the rows and options")
    return items
