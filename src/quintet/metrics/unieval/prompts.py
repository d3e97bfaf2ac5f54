"""A prompt: a question and labelled places for texts, read from prompts.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from quintet.core.dimension import Dimension
from quintet.metrics.places import Place

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


def _read(name: str, row: Mapping[str, Any]) -> Prompt:
    places = tuple((label, field) for label, field in row["segments"])
    settings = {key: row[key] for key in ("unit", "combine", "paper_question") if key in row}
    return Prompt(name, row["question"], places, **settings)
