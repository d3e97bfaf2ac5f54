"""What language models wrote for one recipe, handed on to another: tellings of documents and replies of dialogues.

Gzip JSONL. Recipes read other corpora, so texts are named by hash, and those of texts that a recipe lacks are left out.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from quintet.errors import InputError
from quintet_train.evaluator.tables import Answered, Dialogue, Document, Tables, Told


def key_of(text: Document | Dialogue) -> str:
    """Names a document or dialogue whatever else a recipe reads."""
    words = text.text if isinstance(text, Document) else "\n".join(text.turns)
    return hashlib.blake2b(words.encode(), digest_size=8).hexdigest()


def write_lines(rows: Iterator[dict[str, Any]], path: Path) -> None:
    """Whole or not at all; the same rows, the same bytes."""
    part = path.with_suffix(".part")
    with part.open("wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as file:
        for row in rows:
            file.write(f"{json.dumps(row)}\n".encode())
    part.replace(path)


def read_lines(path: Path, what: str) -> Iterator[dict[str, Any]]:
    if not path.is_file():
        todo = "make them with the recipe of the teacher, such as: quintet train judge-teacher"
        raise InputError(f"there are no {what}", where=str(path), todo=todo)
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def save(tables: Tables, path: Path) -> None:
    write_lines(_rows(tables), path)


def _rows(tables: Tables) -> Iterator[dict[str, Any]]:
    keys = [key_of(document) for document in tables.documents]
    for told in tables.told:
        yield {"document": keys[told.document], "told": told.text}
    keys = [key_of(dialogue) for dialogue in tables.dialogues]
    for one in tables.answered:
        yield {"dialogue": keys[one.dialogue], "turn": one.turn, "reply": one.reply, "aware": one.aware}


def load(tables: Tables, path: Path) -> Tables:
    """With the tellings and replies of the texts that are among the tables."""
    documents = {key_of(document): number for number, document in enumerate(tables.documents)}
    dialogues = {key_of(dialogue): number for number, dialogue in enumerate(tables.dialogues)}
    told, answered = list[Told](), list[Answered]()
    for row in read_lines(path, "written texts"):
        if row.get("document") in documents:
            told.append(Told(documents[row["document"]], row["told"]))
        elif row.get("dialogue") in dialogues:
            answered.append(Answered(dialogues[row["dialogue"]], row["turn"], row["reply"], row["aware"]))
    if not told and not answered:
        raise InputError("none of the written texts is about a text of this recipe", where=str(path))
    return replace(tables, told=told, answered=answered)
