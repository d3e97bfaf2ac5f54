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
from quintet.train import rows
from quintet.train.evaluator import building, cleaning, continuing, corpora, neighbours, retelling, teaching, terms
from quintet.train.evaluator.groups import HEADS, Neighbours, Times
from quintet.train.evaluator.packing import Framing, Packed
from quintet.train.evaluator.starting import EncoderStart
from quintet.train.evaluator.tables import Continued, Record, Retold, Tables, fill, load_claims, save_claims
from quintet.train.export import UsedData
from quintet.train.recipe import Recipe
from quintet.train.trainer import Progress


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
    tables, path = fill(records), recipe.data.options.get("taught")
    if path:
        told = teaching.load(tables, Path(path))
        tables = replace(tables, retold=told)
        used.append(UsedData(Path(path).name, len(told), rows.digest(Path(path)), teaching.LICENCE, "yes"))
    return Corpus(tables, used, notes)


def prepared(
    run: Run, corpus: Corpus, key: str, frame: Framing, encoder: Callable[[], EncoderStart],
    heads: Collection[str] = HEADS,
) -> Packed:  # fmt: skip
    """Neighbours, claims and examples, kept beside the run: made once, and a run that was cut off finds them.

    `encoder` finds the neighbours; it is opened only where they are needed.
    """
    folder, options = run.target / "prepared", run.recipe.data.options
    known = folder / "key.txt"
    if not known.is_file() or known.read_text(encoding="utf-8") != key:
        folder.mkdir(exist_ok=True)
        known.unlink(missing_ok=True)
        tables = with_written_claims(run, corpus, folder)
        start = encoder()
        near: Neighbours = neighbours.find(start.network.enc, start.tokenizer, tables, run.device)
        start.network.train().to("cpu")
        times, seed = Times(options.get("times", {})), run.recipe.data.seed
        packed = building.build(tables, near, times, frame, seed, shards(options), _processes(options), heads)
        packed.save(folder / "examples.npz")
        known.write_text(key, encoding="utf-8")
    return Packed.load(folder / "examples.npz")


def with_written_claims(run: Run, corpus: Corpus, folder: Path) -> Tables:
    """The claims that a language model ended; a file of them is good for every run with these texts and options."""
    table, tables = run.recipe.data.options.get("continuing"), corpus.tables
    if not table:
        return tables
    times = run.recipe.data.options.get("times", {})
    told = json.dumps([table, times.get("con.written"), times.get("con.summary"), run.recipe.data.seed, corpus.digest])
    path = folder / f"continued-{hashlib.sha256(told.encode()).hexdigest()[:12]}.jsonl"
    if not path.is_file():
        options = continuing.options_of(table)
        seed, texts = run.recipe.data.seed, all_texts(tables)
        save_claims(continuing.continuations(options, tables, Times(times), seed, run.device, texts), path)
    return replace(tables, continued=load_claims(Continued, path))


def with_retold_claims(run: Run, tables: Tables, folder: Path) -> Tables:
    """What a language model tells of the documents, not yet judged; kept like the claims that it ended."""
    table = run.recipe.data.options.get("retelling")
    if not table:
        return tables
    times, seed = run.recipe.data.options.get("times", {}), run.recipe.data.seed
    documents = [teaching.key_of(document) for document in tables.documents]
    told = json.dumps([table, times.get("retold"), seed, documents])
    path = folder / f"retold-{hashlib.sha256(told.encode()).hexdigest()[:12]}.jsonl"
    if not path.is_file():
        options = retelling.options_of(table)
        save_claims(retelling.retellings(options, tables, Times(times), seed, run.device, all_texts(tables)), path)
    return replace(tables, retold=load_claims(Retold, path))


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
