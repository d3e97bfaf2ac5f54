"""The evaluator's two recipes carried out: corpora, examples, training, the folder that is bundled."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any

import torch

from quintet.errors import InputError
from quintet.train import rows
from quintet.train.evaluator import building, cleaning, continuing, corpora, neighbours, terms
from quintet.train.evaluator.groups import Neighbours, Times
from quintet.train.evaluator.language_grid import towards
from quintet.train.evaluator.language_lesson import Anchor, LanguageLesson
from quintet.train.evaluator.language_texts import readings, tokenised
from quintet.train.evaluator.lesson import JudgeLesson, Weights
from quintet.train.evaluator.packing import Frame, Packed
from quintet.train.evaluator.shipping import Made, read_together, ship_evaluator, ship_language_model
from quintet.train.evaluator.starting import EncoderStart, open_encoder, open_language_model
from quintet.train.evaluator.tables import Record, Tables, fill
from quintet.train.export import UsedData
from quintet.train.opening import check_positions
from quintet.train.recipe import Recipe
from quintet.train.trainer import Outcome, Progress, Trainer, pick_device, plain_weights

JUDGE, LANGUAGE_MODEL = "evaluator.judge", "evaluator.language-model"


@dataclass(frozen=True)
class Corpus:
    tables: Tables
    used: list[UsedData]
    notes: list[str]

    @property
    def digest(self) -> str:
        return hashlib.sha256(json.dumps([vars(one) for one in self.used]).encode()).hexdigest()


@dataclass(frozen=True)
class Result:
    folder: Path
    items: int
    steps: int
    figures: Mapping[str, float]


@dataclass(frozen=True)
class Run:
    """What both recipes need to know."""

    recipe: Recipe
    data: Path
    target: Path
    resume: bool
    device: torch.device
    progress: Progress | None
    private: bool


def carry_out(
    recipe: Recipe, data: Path, target: Path, resume: bool, device: str, progress: Progress | None, private: bool
) -> Result:
    """Trains and writes OUT/model; the same seed on the same machine gives the same weights, unless it runs by time."""
    steps = {JUDGE: _judge, LANGUAGE_MODEL: _language_model}
    if recipe.data.builder not in steps:
        raise InputError(f"unknown builder {recipe.data.builder}", todo=f"one of: {', '.join(steps)}")
    target.mkdir(parents=True, exist_ok=True)
    chosen = pick_device(device)
    if chosen.type == "cuda":
        # It plans anew for every shape of a batch, which costs more than the step itself.
        torch.backends.cuda.enable_cudnn_sdp(False)
    return steps[recipe.data.builder](Run(recipe, data, target, resume, chosen, progress, private))


def read_corpus(run: Run) -> Corpus:
    """All sources in the order of the recipe, without what stands in a benchmark."""
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
    return Corpus(fill(records), used, notes)


def _judge(run: Run) -> Result:
    recipe, options = run.recipe, run.recipe.data.options
    corpus = read_corpus(run)
    torch.manual_seed(recipe.train.seed)
    start = open_encoder(recipe.model.start, _all_texts(corpus.tables))
    check_positions(recipe.model.max_tokens, start.network.shape.positions, recipe.model.start)
    key = _key(run, corpus)
    packed = _prepared(run, start, corpus, key)
    frame = _frame(run, start)
    lesson = JudgeLesson(
        packed, _weights(recipe.model.options), recipe.data.dev_fraction, recipe.data.seed,
        frame.number("[MASK]"), start.network.shape.vocabulary, frame.together,
    )  # fmt: skip
    outcome = _fit(run, start.network, lesson, key)
    notes = [
        *corpus.notes,
        f"{len(packed.labels)} examples in {lesson.size} groups, built in {_shards(options)} parts.",
    ]
    if "continuing" in options:
        notes.append(f"Made-up claims were written by a language model ({options['continuing']['about']}).")
    made = Made(recipe, corpus.used, outcome.scores, notes)
    return Result(ship_evaluator(start, run.target, made), len(packed.labels), outcome.steps, outcome.scores)


def _language_model(run: Run) -> Result:
    recipe = run.recipe
    corpus = read_corpus(run)
    torch.manual_seed(recipe.train.seed)
    start = open_language_model(recipe.model.start, _all_texts(corpus.tables))
    options = recipe.data.options
    rng, times = Random(recipe.data.seed), Times(options.get("times", {}))
    passes = int(options.get("passes", 2))
    found = list(chain.from_iterable(readings(corpus.tables, times, rng) for _ in range(passes)))
    texts = tokenised(found, start.tokenizer, start.tokenizer.token_to_id(start.first))
    # Before `_fit`, which may put the weights of a checkpoint into the network: the teacher is the start.
    anchor = Anchor.of(start.network, options.get("anchor", {}), run.device)
    lesson = LanguageLesson(
        texts, recipe.data.dev_fraction, recipe.data.seed, options.get("context_share", 0.0), anchor
    )
    if recipe.model.options.get("fuse", False) and run.device.type == "cuda":
        start.network.fuse()
    untrained = plain_weights(start.network)
    outcome = _fit(run, start.network, lesson, _key(run, corpus))
    figures, notes = outcome.scores, [*corpus.notes, f"{len(texts)} texts."]
    share = float(recipe.model.options.get("start_share", 0.0))
    if share:
        start.network.load_state_dict(towards(plain_weights(start.network), untrained, share))
        with torch.no_grad():
            figures = lesson.dev_scores(start.network.to(run.device))
        start.network.to("cpu")
        notes.append(f"The weights are a mean: {share:g} of the start's, the rest of those that were learnt.")
    made = Made(recipe, corpus.used, figures, notes)
    return Result(ship_language_model(start, run.target, made), len(texts), outcome.steps, figures)


def _fit(run: Run, network: Any, lesson: Any, key: str) -> Outcome:
    network.to(run.device)
    outcome = Trainer(network, lesson, run.recipe.train, run.target / "run", key).fit(run.resume, run.progress)
    network.eval().to("cpu")
    return outcome


def _key(run: Run, corpus: Corpus) -> str:
    """A run goes on only with the same recipe and the same bytes."""
    return hashlib.sha256(f"{run.recipe.digest}:{corpus.digest}".encode()).hexdigest()


def _prepared(run: Run, start: EncoderStart, corpus: Corpus, key: str) -> Packed:
    """Neighbours, claims and examples, kept beside the run: made once, and a run that was cut off finds them."""
    folder, options = run.target / "prepared", run.recipe.data.options
    known = folder / "key.txt"
    if not known.is_file() or known.read_text(encoding="utf-8") != key:
        folder.mkdir(exist_ok=True)
        known.unlink(missing_ok=True)
        tables = _with_written_claims(run, corpus, folder)
        near: Neighbours = neighbours.find(start.network.enc, start.tokenizer, tables, run.device)
        start.network.train().to("cpu")
        times, seed = Times(options.get("times", {})), run.recipe.data.seed
        packed = building.build(tables, near, times, _frame(run, start), seed, _shards(options), _processes(options))
        packed.save(folder / "examples.npz")
        known.write_text(key, encoding="utf-8")
    return Packed.load(folder / "examples.npz")


def _frame(run: Run, start: EncoderStart) -> Frame:
    model = run.recipe.model
    return Frame(start.tokenizer, model.max_tokens, read_together(model.options))


def _with_written_claims(run: Run, corpus: Corpus, folder: Path) -> Tables:
    """The claims that a language model ended; a file of them is good for every run with these texts and options."""
    table, tables = run.recipe.data.options.get("continuing"), corpus.tables
    if not table:
        return tables
    times = run.recipe.data.options.get("times", {})
    told = json.dumps([table, times.get("con.written"), times.get("con.summary"), run.recipe.data.seed, corpus.digest])
    path = folder / f"continued-{hashlib.sha256(told.encode()).hexdigest()[:12]}.jsonl"
    if not path.is_file():
        options = continuing.options_of(table)
        seed, texts = run.recipe.data.seed, _all_texts(tables)
        continuing.save(continuing.continuations(options, tables, Times(times), seed, run.device, texts), path)
    return replace(tables, continued=continuing.load(path))


def _shards(options: Mapping[str, Any]) -> int:
    return int(options.get("shards", 8))


def _processes(options: Mapping[str, Any]) -> int:
    """As many as there are cores, unless the recipe says a number."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    return int(options.get("processes", 0)) or cores


def _weights(options: Mapping[str, Any]) -> Weights:
    try:
        return Weights(**options.get("weights", {"heads": {}}))
    except TypeError as error:
        raise InputError(f"model.options.weights: {error}") from None


def _all_texts(tables: Tables) -> Iterable[str]:
    """Texts that teach a tiny tokenizer its words."""
    return chain(
        tables.turns,
        tables.sentences,
        (text for one in tables.documents for text in one.sentences),
        (text for one in tables.described for text in one.texts),
        (text for row in tables.entailments for text in (row.premise, row.hypothesis)),
    )
