"""The evaluator's recipes carried out: corpora, examples, training, the folder that is bundled."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch
from torch import Tensor

from quintet.errors import InputError
from quintet.models.lm_heads import WORDS
from quintet_train.evaluator import teaching, written_texts
from quintet_train.evaluator.fewer_words import with_fewer_words
from quintet_train.evaluator.groups import HEADS, Times
from quintet_train.evaluator.language_frame import LEAST_TOKENS, LanguageFrame
from quintet_train.evaluator.language_grid import towards
from quintet_train.evaluator.language_judge import LanguageJudge
from quintet_train.evaluator.language_judge_lesson import LanguageJudgeLesson
from quintet_train.evaluator.language_lesson import Anchor, LanguageLesson
from quintet_train.evaluator.language_texts import readings, tokenised
from quintet_train.evaluator.lesson import Held, JudgeLesson, Weights
from quintet_train.evaluator.packing import UNKNOWN, Frame, Packed
from quintet_train.evaluator.preparing import (
    Corpus,
    Run,
    all_texts,
    prepared,
    read_corpus,
    shards,
    with_texts_of_models,
    with_written_claims,
)
from quintet_train.evaluator.shared_lesson import SharedLesson
from quintet_train.evaluator.shipping import (
    Heads,
    Made,
    keep_teacher,
    read_together,
    ship_evaluator,
    ship_language_model,
)
from quintet_train.evaluator.starting import EncoderStart, LanguageStart, open_encoder, open_language_model
from quintet_train.opening import check_positions
from quintet_train.recipe import Recipe
from quintet_train.trainer import Outcome, Progress, Trainer, pick_device, plain_weights

JUDGE, LANGUAGE_MODEL, LANGUAGE_JUDGE = "evaluator.judge", "evaluator.language-model", "evaluator.language-judge"
TEACHER = "evaluator.teacher"
TAUGHT, WRITTEN = "taught.jsonl.gz", "written.jsonl.gz"
"""What a teacher leaves: claims with what it says of them, and what language models wrote for it."""
_NEIGHBOURS = "bundled:gte-small"
"""The encoder that finds them, where none is trained."""


@dataclass(frozen=True)
class Result:
    folder: Path
    items: int
    steps: int
    figures: Mapping[str, float]


def carry_out(
    recipe: Recipe, data: Path, target: Path, resume: bool, device: str, progress: Progress | None, private: bool
) -> Result:
    """Trains and writes OUT/model; the same seed on the same machine gives the same weights, unless it runs by time."""
    steps = {JUDGE: _judge, LANGUAGE_MODEL: _language_model, LANGUAGE_JUDGE: _language_judge, TEACHER: _teacher}
    if recipe.data.builder not in steps:
        raise InputError(f"unknown builder {recipe.data.builder}", todo=f"one of: {', '.join(steps)}")
    target.mkdir(parents=True, exist_ok=True)
    chosen = pick_device(device)
    if chosen.type == "cuda":
        # It plans anew for every shape of a batch, which costs more than the step itself.
        torch.backends.cuda.enable_cudnn_sdp(False)
    return steps[recipe.data.builder](Run(recipe, data, target, resume, chosen, progress, private))


def _judge(run: Run) -> Result:
    recipe = run.recipe
    corpus = read_corpus(run)
    torch.manual_seed(recipe.train.seed)
    start = open_encoder(recipe.model.start, all_texts(corpus.tables))
    check_positions(recipe.model.max_tokens, start.network.shape.positions, recipe.model.start)
    key, frame = _key(run, corpus), _frame(run, start)
    packed = prepared(run, corpus, key, frame, lambda: start)
    lesson = JudgeLesson(
        packed, _weights(recipe.model.options), recipe.data.dev_fraction, recipe.data.seed,
        frame.number("[MASK]"), start.network.shape.vocabulary, frame.together,
        held=_held(run, start.network),
    )  # fmt: skip
    outcome = _fit(run, start.network, lesson, key)
    made = Made(recipe, corpus.used, outcome.scores, _notes(run, corpus, packed, lesson))
    return Result(ship_evaluator(start, run.target, made), len(packed.labels), outcome.steps, outcome.scores)


def _language_model(run: Run) -> Result:
    recipe = run.recipe
    corpus = read_corpus(run)
    torch.manual_seed(recipe.train.seed)
    start = open_language_model(recipe.model.start, all_texts(corpus.tables))
    lesson = _reading_lesson(run, start, corpus)
    _fuse(run, start)
    untrained = plain_weights(start.network)
    outcome = _fit(run, start.network, lesson, _key(run, corpus))
    notes = [*corpus.notes, f"{len(lesson.texts)} texts."]
    figures = _towards_start(run, start.network, untrained, lesson, notes) or outcome.scores
    made = Made(recipe, corpus.used, figures, notes)
    return Result(ship_language_model(start, run.target, made), len(lesson.texts), outcome.steps, figures)


def _towards_start(
    run: Run, network: Any, untrained: Mapping[str, Tensor], lesson: Any, notes: list[str]
) -> dict[str, float] | None:
    """Where the recipe asks for a mean with the start's weights, heads included: the network has it, its figures."""
    share = _start_share(run.recipe)
    if not share:
        return None
    own = {name: name.removeprefix(getattr(network, "body", "")) for name in untrained}
    learnt, before = ({own[name]: value for name, value in w.items()} for w in (plain_weights(network), untrained))
    mean = towards(learnt, before, share)
    network.load_state_dict({name: mean[short] for name, short in own.items()})
    with torch.no_grad():
        figures: dict[str, float] = lesson.dev_scores(network.to(run.device))
    network.to("cpu")
    notes.append(f"The weights are a mean: {share:g} of the start's, the rest of those that were learnt.")
    return figures


def _start_share(recipe: Recipe) -> float:
    return float(recipe.model.options.get("start_share", 0.0))


def _language_judge(run: Run) -> Result:
    recipe = run.recipe
    corpus = read_corpus(run)
    torch.manual_seed(recipe.train.seed)
    start = open_language_model(recipe.model.start, all_texts(corpus.tables))
    if _start_share(recipe) and not start.heads:
        raise InputError("model.options.start_share: a mean needs heads at the start, and this one has none")
    made = _judging(run, corpus, start)
    _fuse(run, start)
    untrained = plain_weights(made.network)
    outcome = _fit(run, made.network, made.lesson, made.key)
    notes = [
        *_notes(run, corpus, made.packed, made.lesson.judged),
        f"{len(made.lesson.readings.texts)} texts were read beside them. "
        f"Heads that were taught: {', '.join(made.taught)}.",
    ]
    figures = _towards_start(run, made.network, untrained, made.lesson, notes) or outcome.scores
    told = Made(recipe, corpus.used, figures, notes)
    folder = ship_language_model(start, run.target, told, Heads(made.network.head_weights(), made.taught))
    return Result(folder, len(made.packed.labels), outcome.steps, figures)


def _teacher(run: Run) -> Result:
    """A larger language model learns to judge, without rounding, and judges the claims that others tell; it is kept,
    but not shipped. What was written for it is kept too: those that it teaches read the same."""
    recipe, options = run.recipe, run.recipe.data.options
    corpus = read_corpus(run)
    torch.manual_seed(recipe.train.seed)
    start = with_fewer_words(
        open_language_model(recipe.model.start, all_texts(corpus.tables)), all_texts(corpus.tables)
    )
    start.network.unrounded()
    folder, times = run.target / "prepared", Times(options.get("times", {}))
    corpus = replace(corpus, tables=with_texts_of_models(run, corpus.tables, folder, start))
    written_texts.save(corpus.tables, run.target / WRITTEN)
    if layers := int(recipe.model.options.get("layers", 0)):
        start.network.shorten(layers)
    made = _judging(run, corpus, start)
    _fuse(run, start)
    outcome = _fit(run, made.network, made.lesson, made.key)
    keep_teacher(start, made.network, run.target)
    tables = with_written_claims(run, corpus, folder)
    claims = list(teaching.every_claim(tables, times, Random(f"{recipe.data.seed}:claims")))
    told = teaching.judged(tables, claims, made.network.to(run.device), made.frame, run.device)
    teaching.save(tables, told, run.target / TAUGHT)
    return Result(run.target, len(made.packed.labels), outcome.steps, outcome.scores)


@dataclass(frozen=True)
class _Judging:
    """A language model that is to judge, and what it learns."""

    network: LanguageJudge
    lesson: LanguageJudgeLesson
    packed: Packed
    frame: LanguageFrame
    taught: tuple[str, ...]
    key: str


def _judging(run: Run, corpus: Corpus, start: LanguageStart) -> _Judging:
    recipe, options = run.recipe, run.recipe.data.options
    heads = _chosen_heads(options)
    network = LanguageJudge(start.network, start.heads)
    key, frame = _key(run, corpus), LanguageFrame(start.tokenizer, start.first, _judged_tokens(options))
    packed = prepared(
        run,
        corpus,
        key,
        frame,
        lambda: open_encoder(options.get("neighbours", _NEIGHBOURS), all_texts(corpus.tables)),
        heads,
        _taught_by(options),
    )
    # Masked words are the encoder's.
    weights = replace(_weights(recipe.model.options), masked_share=0.0)
    judged = SharedLesson(
        packed, weights, recipe.data.dev_fraction, recipe.data.seed, int(options.get("row_tokens", 0)),
        _held(run, network),
    )  # fmt: skip
    reading = _reading_lesson(run, start, corpus)
    lesson = LanguageJudgeLesson(judged, reading, float(options.get("judged_share", 0.7)))
    return _Judging(network, lesson, packed, frame, _taught(packed, heads), key)


def _taught_by(options: Mapping[str, Any]) -> Callable[[], teaching.Teacher] | None:
    """What opens the teacher that `[data.options.teacher]` names: its folder, the heads it tells, share and heat."""
    table = dict(options.get("teacher", {}))
    folder, heads = table.pop("folder", ""), tuple(table.pop("heads", ()))
    if not folder:
        return None

    def opened() -> teaching.Teacher:
        start = open_language_model(f"dir:{folder}", ())
        if not start.heads:
            raise InputError("data.options.teacher: this model has not learnt to judge", where=folder)
        network = LanguageJudge(start.network.unrounded(), start.heads)
        frame = LanguageFrame(start.tokenizer, start.first, _judged_tokens(options))
        try:
            return teaching.Teacher(network, frame, heads, **table)
        except TypeError as error:
            raise InputError(f"data.options.teacher: {error}") from None

    return opened


def _held(run: Run, network: Any) -> Held | None:
    """To be made before training: what was said is what the start says."""
    table = run.recipe.data.options.get("holding", {})
    return Held.of(network, table.get("learnt", ()), float(table.get("weight", 0.0)), run.device)


def _chosen_heads(options: Mapping[str, Any]) -> tuple[str, ...]:
    named = options.get("heads", HEADS)
    if strange := sorted(set(named) - set(HEADS)):
        raise InputError(f"data.options.heads: no head {strange[0]!r}", todo=f"one of: {', '.join(HEADS)}")
    return tuple(name for name in HEADS if name in named)


def _judged_tokens(options: Mapping[str, Any]) -> int:
    longest = int(options.get("judged_tokens", 512))
    if longest < LEAST_TOKENS:
        raise InputError(f"data.options.judged_tokens is {longest}, but at least {LEAST_TOKENS} are needed")
    return longest


def _taught(packed: Packed, heads: Sequence[str]) -> tuple[str, ...]:
    """The chosen heads, and words if any are marked."""
    for name in heads:
        if not (packed.heads == HEADS.index(name)).any():
            raise InputError(f"data.options.heads: these sources hold nothing to teach {name}")
    return (*heads, WORDS) if bool(np.any(packed.marks != UNKNOWN)) else tuple(heads)


def _reading_lesson(run: Run, start: LanguageStart, corpus: Corpus) -> LanguageLesson:
    """To be made before `_fit`, which may put a checkpoint's weights into the network: the teacher is the start."""
    recipe, options = run.recipe, run.recipe.data.options
    rng, times = Random(recipe.data.seed), Times(options.get("times", {}))
    passes = int(options.get("passes", 2))
    found = list(chain.from_iterable(readings(corpus.tables, times, rng) for _ in range(passes)))
    texts = tokenised(found, start.tokenizer, start.tokenizer.token_to_id(start.first))
    anchor = Anchor.of(start.network, options.get("anchor", {}), run.device)
    return LanguageLesson(texts, recipe.data.dev_fraction, recipe.data.seed, options.get("context_share", 0.0), anchor)


def _fuse(run: Run, start: LanguageStart) -> None:
    if run.recipe.model.options.get("fuse", False) and run.device.type == "cuda":
        start.network.fuse()


def _notes(run: Run, corpus: Corpus, packed: Packed, lesson: JudgeLesson) -> list[str]:
    """For the card."""
    options = run.recipe.data.options
    built = f"{len(packed.labels)} examples in {lesson.size} groups, built in {shards(options)} parts."
    notes = [*corpus.notes, built]
    if "continuing" in options:
        notes.append(f"Made-up claims were written by a language model ({options['continuing']['about']}).")
    return notes


def _fit(run: Run, network: Any, lesson: Any, key: str) -> Outcome:
    network.to(run.device)
    outcome = Trainer(network, lesson, run.recipe.train, run.target / "run", key).fit(run.resume, run.progress)
    network.eval().to("cpu")
    return outcome


def _key(run: Run, corpus: Corpus) -> str:
    """A run goes on only with the same recipe and the same bytes."""
    return hashlib.sha256(f"{run.recipe.digest}:{corpus.digest}".encode()).hexdigest()


def _frame(run: Run, start: EncoderStart) -> Frame:
    model = run.recipe.model
    return Frame(start.tokenizer, model.max_tokens, read_together(model.options))


def _weights(options: Mapping[str, Any]) -> Weights:
    try:
        return Weights(**options.get("weights", {"heads": {}}))
    except TypeError as error:
        raise InputError(f"model.options.weights: {error}") from None
