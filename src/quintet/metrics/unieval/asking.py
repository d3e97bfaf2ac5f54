"""Asking a prompt about examples: units, references, long texts, and how answers become one score."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.plain import Cells
from quintet.core.score import Score, Span, no_score
from quintet.metrics.long_texts import Sliced, in_slices
from quintet.metrics.places import Place
from quintet.models.roles import Answer, Long, PromptModel
from quintet.text.punkt import RULES, Split, splitter
from quintet.text.tokens import Piece

# A prompt: a question and labelled places for texts, read from prompts.toml.

Unit = Literal["text", "sentence"]
Combine = Literal["mean", "sum"]


@dataclass(frozen=True, slots=True)
class Prompt:
    name: str
    question: str
    places: tuple[Place, ...]
    """The output stands first."""
    unit: Unit = "text"
    combine: Combine = "mean"
    paper_question: str = ""

    def segments(self, texts: Sequence[str]) -> tuple[str, ...]:
        """What the model is asked: one segment for the question, one for each text, never glued together here."""
        labelled = (f"{label}: {text}" for (label, _), text in zip(self.places, texts, strict=True))
        return (f"question: {self.question}", *labelled)

    @property
    def grounds(self) -> tuple[str, ...]:
        """The fields beside the output, in their order."""
        return tuple(field for _, field in self.places if field != "output")

    @property
    def dimension(self) -> Dimension:
        unbounded = self.unit == "sentence" and self.combine == "sum"
        return Dimension(self.name, self.question, self.grounds, high=None if unbounded else 1.0)


@cache
def prompts_of(task: str) -> Mapping[str, Prompt]:
    """The prompts of a task in the order of its evaluator."""
    tables = tomllib.loads(files("quintet.metrics.unieval").joinpath("prompts.toml").read_text(encoding="utf-8"))
    return {name: _read(name, row) for name, row in tables[task].items()}


def _read(name: str, row: Cells) -> Prompt:
    places = tuple((label, field) for label, field in row["segments"])
    settings = {key: row[key] for key in ("unit", "combine", "paper_question") if key in row}
    return Prompt(name, row["question"], places, **settings)


RELEASED_TOKENS = 1024
"""The released scorer cuts the whole prompt here, from the right."""
NO_FACT = frozenset({"_nofact", "nofact"})
"""What stands in Topical-Chat data where there is no fact."""
_BESIDE = 32
"""Tokens of the question and the labels."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How texts are put into a prompt."""

    long: Long = "window"
    references: str = "mean"
    """first: only the first one is looked at."""
    nofact: str = "text"
    """absent: a fact that reads `_nofact` is an empty one."""
    one_line: bool = True
    """Line breaks inside a text become spaces, so that no text can begin a line of a decoder's prompt."""
    sentences: str = RULES


def ask(model: PromptModel, prompt: Prompt, examples: Sequence[Example], reading: Reading) -> list[Score]:
    """One score per example; NaN with the reason where a field is absent."""
    lacking = [next((f for f in prompt.grounds if not e.has(f)), None) for e in examples]
    split = splitter(reading.sentences)
    units = [_units(prompt, e.output, split) for e in examples]
    grounds = [_grounds(prompt, e, reading) if not f else [] for e, f in zip(examples, lacking, strict=True)]
    jobs = [
        (_line(unit.text, reading), *ground)
        for own, beside in zip(units, grounds, strict=True)
        for ground in beside
        for unit in own
    ]
    answers = iter(_answer(model, prompt, jobs, reading.long))
    scores = []
    for example, field, own, beside in zip(examples, lacking, units, grounds, strict=True):
        if field:
            scores.append(no_score(f"no {field}"))
            continue
        table = [[next(answers) for _ in own] for _ in beside]
        scores.append(_combined(prompt, own, table, _flags(prompt, example, reading)))
    return scores


def _units(prompt: Prompt, output: str, split: Split) -> list[Piece]:
    found = split(output) if prompt.unit == "sentence" else []
    return found or [Piece(output, 0, len(output))]


def _line(text: str, reading: Reading) -> str:
    return " ".join(text.split()) if reading.one_line else text


def _grounds(prompt: Prompt, example: Example, reading: Reading) -> list[tuple[str, ...]]:
    """The texts beside the output; several references make several of them."""
    count = len(example.references) if "references" in prompt.grounds and reading.references == "mean" else 1
    return [tuple(_text(example, field, index, reading) for field in prompt.grounds) for index in range(count)]


def _text(example: Example, field: str, index: int, reading: Reading) -> str:
    if field == "references":
        return _line(example.references[index], reading)
    if field == "history":
        # Appendix A.3: turns with " \n " between them and an empty line after the last.
        turns = " \n ".join(_line(turn, reading) for turn in example.history or ())
        return turns if reading.one_line else f"{turns}\n\n"
    text = example.text(field)
    if field == "context" and reading.nofact == "absent" and text.strip() in NO_FACT:
        return ""
    if field == "context" and not reading.one_line:
        return f"{text}\n"
    return _line(text, reading)


def _flags(prompt: Prompt, example: Example, reading: Reading) -> tuple[str, ...]:
    """What is present but says nothing; a fact that reads `_nofact` is none, unless it is to be read as text."""
    flags = []
    for field in prompt.grounds:
        text = example.text(field).strip()
        if not text or (field == "context" and reading.nofact == "absent" and text in NO_FACT):
            flags.append("no fact" if field == "context" else f"empty {field}")
    return tuple(flags)


def _answer(model: PromptModel, prompt: Prompt, jobs: Sequence[tuple[str, ...]], long: Long) -> list[Answer]:
    distinct = list(dict.fromkeys(jobs))
    if not distinct:
        return []
    if long == "cut":
        values = model.answers([prompt.segments(job) for job in distinct], max_tokens=RELEASED_TOKENS)
    else:
        read = in_slices(
            distinct,
            lambda inputs: model.answers([prompt.segments(texts) for texts in inputs]),
            lambda answer: answer.cut,
            model.max_tokens - _BESIDE,
            (False, *(True for _ in prompt.grounds)),
        )
        values = [_over_slices(job[0], one) for job, one in zip(distinct, read, strict=True)]
    found = dict(zip(distinct, values, strict=True))
    return [found[job] for job in jobs]


def _over_slices(text: str, read: Sliced[Answer]) -> Answer:
    """The best slice of what stands beside the output; slices of the output itself count by their words."""
    total = weights = 0.0
    cut = 0
    for own, results in read.by_first():
        weight = float(max(1, len(text[own.start : own.end].split())))
        total += weight * max(result.value for result in results)
        weights += weight
        cut += max(result.cut for result in results)
    return Answer.yes(total / weights, cut)


def _combined(prompt: Prompt, units: list[Piece], table: list[list[Answer]], flags: tuple[str, ...]) -> Score:
    """`table` has one row per reference (one if there are none) and one column per unit."""
    by_unit = [sum(row[i].value for row in table) / len(table) for i in range(len(units))]
    total = sum(by_unit)
    value = total if prompt.combine == "sum" else total / len(by_unit)
    spans: tuple[Span, ...] = ()
    if prompt.unit == "sentence":
        spans = tuple(Span(u.start, u.end, round(v, 4), "sentence") for u, v in zip(units, by_unit, strict=True))
    lost = sum(answer.cut for row in table for answer in row)
    parts = {}
    if len(table) > 1:
        parts = {f"reference {i + 1}": sum(a.value for a in row) / len(row) for i, row in enumerate(table)}
    return Score(value, spans, parts, flags, {prompt.places[-1][1]: lost} if lost else {})
