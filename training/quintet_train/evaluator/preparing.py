"""What a recipe of the evaluator needs before it trains: corpora, claims, neighbours, examples; made once."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import torch

from quintet.errors import InputError
from quintet_train import rows
from quintet_train.evaluator import (
    answering,
    building,
    cleaning,
    continuing,
    corpora,
    neighbours,
    retelling,
    teaching,
    terms,
    written_texts,
)
from quintet_train.evaluator.groups import HEADS, Neighbours, Times
from quintet_train.evaluator.packing import Framing, Packed, joined
from quintet_train.evaluator.starting import EncoderStart, LanguageStart
from quintet_train.evaluator.tables import (
    Answered,
    Continued,
    Record,
    Retold,
    Tables,
    Told,
    fill,
    load_written,
    save_written,
)
from quintet_train.export import UsedData
from quintet_train.recipe import Recipe
from quintet_train.trainer import Progress


@dataclass(frozen=True)
class Run:
    """What every recipe needs to know."""

    recipe: Recipe
    data: Path
    target: Path
    resume: bool
    device: torch.device
    progress: Progress | None
    private: bool


@dataclass(frozen=True)
class Corpus:
    tables: Tables
    used: list[UsedData]
    notes: list[str]

    @property
    def digest(self) -> str:
        return hashlib.sha256(json.dumps([vars(one) for one in self.used]).encode()).hexdigest()


def read_corpus(run: Run) -> Corpus:
    """All sources in the order of the recipe, without what stands in a benchmark; the claims that a teacher judged,
    where the recipe names a file of them."""
    recipe = run.recipe
    terms.check(recipe.data.sources, run.private)
    checked, names = frozenset[int](), list[str]()
    if recipe.data.options.get("benchmarks", True):
        checked, names = cleaning.benchmark_keys()
    cleaner = cleaning.Cleaner(checked)
    records: list[Record] = []
    used = []
    processes = _processes(recipe.data.options)
    every = corpora.read_all(recipe.data.sources, run.data, recipe.data.seed, processes)
    for source, found in zip(recipe.data.sources, every, strict=True):
        own = list(cleaner(found))
        if not own:
            raise InputError("no usable row", where=str(run.data / source.path))
        records += own
        digest = rows.digest(run.data / source.path)
        used.append(UsedData(source.path, len(own), digest, source.licence, source.release))
    notes = [f"{cleaner.repeated} dialogues came twice and were used once."]
    if names:
        notes.append(f"{cleaner.in_benchmarks} texts that stand in a benchmark were left out ({len(names)} sets).")
    else:
        notes.append("Not checked against benchmarks: none were found where this ran.")
    return Corpus(_with_handed_on(recipe, fill(records), used), used, notes)


def _with_handed_on(recipe: Recipe, tables: Tables, used: list[UsedData]) -> Tables:
    """What the recipe of a teacher left, where this one names its files: claims that it judged, and what language
    models wrote for it. Both are added to the data that was used."""
    options = recipe.data.options
    if path := options.get("taught"):
        tables = replace(tables, retold=teaching.load(tables, Path(path)))
        used.append(_handed_on(Path(path), len(tables.retold)))
    if path := options.get("written"):
        tables = written_texts.load(tables, Path(path))
        used.append(_handed_on(Path(path), len(tables.told) + len(tables.answered)))
    return tables


def _handed_on(path: Path, count: int) -> UsedData:
    return UsedData(path.name, count, rows.digest(path), teaching.LICENCE, "yes")


def prepared(
    run: Run, corpus: Corpus, key: str, frame: Framing, encoder: Callable[[], EncoderStart],
    heads: Collection[str] = HEADS, teacher: Callable[[], teaching.Teacher] | None = None,
) -> Packed:  # fmt: skip
    """Neighbours, claims and examples, kept beside the run: made once, and a run that was cut off finds them.

    `encoder` finds the neighbours, `teacher` judges examples; they are opened only where they are needed.
    """
    folder = run.target / "prepared"
    known = folder / "key.txt"
    if not known.is_file() or known.read_text(encoding="utf-8") != key:
        folder.mkdir(exist_ok=True)
        known.unlink(missing_ok=True)
        tables = with_written_claims(run, corpus, folder)
        start = encoder()
        near: Neighbours = neighbours.find(start.network.enc, start.tokenizer, tables, run.device)
        start.network.train().to("cpu")
        _built(run, tables, near, frame, heads, teacher and teacher()).save(folder / "examples.npz")
        known.write_text(key, encoding="utf-8")
    return Packed.load(folder / "examples.npz")


def _built(
    run: Run, tables: Tables, near: Neighbours, frame: Framing, heads: Collection[str], teacher: teaching.Teacher | None
) -> Packed:
    """Examples; those of the heads that the teacher tells are read by it too."""
    options = run.recipe.data.options
    times = Times(options.get("times", {}))
    rest = (tables, near, times, run.recipe.data.seed, shards(options), _processes(options))
    told = [name for name in heads if teacher is not None and name in teacher.heads]
    found = []
    if teacher is not None and told:
        own, read = building.build_for([frame, teacher.frame], *rest, told)
        found.append(teacher.relabelled(own, read, run.device))
    others = [name for name in heads if name not in told]
    return joined([*found, *building.build_for([frame], *rest, others)])


def with_written_claims(run: Run, corpus: Corpus, folder: Path) -> Tables:
    """The claims that a language model ended; a file of them is good for every run with these texts and options."""
    table, tables = run.recipe.data.options.get("continuing"), corpus.tables
    if not table:
        return tables
    times = run.recipe.data.options.get("times", {})
    told = json.dumps([table, times.get("con.written"), times.get("con.summary"), run.recipe.data.seed, corpus.digest])
    path = folder / f"continued-{hashlib.sha256(told.encode()).hexdigest()[:12]}.jsonl"
    if not path.is_file():
        options = continuing.Options.of(table)
        seed, texts = run.recipe.data.seed, all_texts(tables)
        save_written(continuing.continuations(options, tables, Times(times), seed, run.device, texts), path)
    return replace(tables, continued=load_written(Continued, path))


def with_texts_of_models(run: Run, tables: Tables, folder: Path, own: LanguageStart | None = None) -> Tables:
    """What language models tell of the documents and reply in the dialogues, not yet judged; kept like the claims that
    they ended. `own`: the recipe's start, which may be one of them."""
    options, seed = run.recipe.data.options, run.recipe.data.seed
    folder.mkdir(exist_ok=True)
    times = Times(options.get("times", {}))
    retold, told, answered = list[Retold](), list[Told](), list[Answered]()
    for table in _several(options.get("retelling")):
        named = f"{table.get('times', 'retold')}"
        names = [written_texts.key_of(document) for document in tables.documents]
        paths = [
            folder / f"{kind}-{_short(table, _times(run, named), seed, names)}.jsonl" for kind in ("retold", "told")
        ]
        if not all(path.is_file() for path in paths):
            asked = retelling.Options.of(table)
            made = retelling.retellings(asked, tables, times, seed, run.device, all_texts(tables), own)
            save_written(made.claims, paths[0])
            save_written(made.told, paths[1])
        retold += load_written(Retold, paths[0])
        told += load_written(Told, paths[1])
    for table in _several(options.get("answering")):
        names = [written_texts.key_of(dialogue) for dialogue in tables.dialogues]
        path = folder / f"answered-{_short(table, _times(run, 'answered'), seed, names)}.jsonl"
        if not path.is_file():
            wanted = answering.Options.of(table)
            save_written(answering.answers(wanted, tables, times, seed, run.device, all_texts(tables)), path)
        answered += load_written(Answered, path)
    return replace(tables, retold=retold, told=told, answered=answered)


def _several(told: Any) -> list[Mapping[str, Any]]:
    """A table, or several of them."""
    return [told] if isinstance(told, Mapping) else list(told or ())


def _times(run: Run, name: str) -> Any:
    return run.recipe.data.options.get("times", {}).get(name)


def _short(*told: Any) -> str:
    """Names what a file was made of."""
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:12]


def shards(options: Mapping[str, Any]) -> int:
    return int(options.get("shards", 8))


def _processes(options: Mapping[str, Any]) -> int:
    """As many as there are cores, unless the recipe says a number."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    return int(options.get("processes", 0)) or cores


def all_texts(tables: Tables) -> Iterable[str]:
    """Texts that teach a tiny tokenizer its words."""
    return chain(
        tables.turns,
        tables.sentences,
        (text for one in tables.documents for text in one.sentences),
        (text for one in tables.described for text in one.texts),
        (text for row in tables.entailments for text in (row.premise, row.hypothesis)),
    )
