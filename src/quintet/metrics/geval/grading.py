"""G-Eval: score = sum of p(grade) × grade over the grades of a scale (eq. 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Row
from quintet.core.score import Score
from quintet.errors import InputError
from quintet.metrics.places import Place, read_places
from quintet.metrics.role_metric import RoleMetric
from quintet.models.roles import Answer

HIGHEST = 9
"""Grades are single digits, so that each is one token and has its own probability."""


@dataclass(frozen=True)
class GEval(RoleMetric):
    model: str = ""
    """openai:MODEL@URL; there is no bundled one."""
    question: str = "How well is this text written?"
    """What is graded, in words."""
    steps: str = ""
    """How to go about it, handed to the model after the question; the paper lets a model write them once."""
    segments: str = "text:output"
    """LABEL:FIELD for each text, with semicolons between them."""
    called: str = "grade"
    """The name of the dimension."""
    low: int = 1
    high: int = 5
    samples: int = 1
    """How often a server without log-probabilities is asked; the paper asks 20 times."""

    name = "g-eval"
    model_role = "grader"
    paper = "Liu et al. 2023"

    @property
    def dimensions(self) -> tuple[Dimension, ...]:  # type: ignore[override]
        needs = tuple(field for _, field in self._places if field != "output")
        question = self.question if self.question.endswith("?") else f"{self.question}?"
        return (Dimension(self.called, question, needs, float(self.low), float(self.high)),)

    @property
    def _places(self) -> tuple[Place, ...]:
        return read_places(self.segments, self.name)

    def prepare(self) -> None:
        if not self.model:
            raise InputError(
                "g-eval asks a language model, and none is named", todo="give --model openai:MODEL@http://HOST:PORT/v1"
            )
        if not 0 <= self.low < self.high <= HIGHEST:
            raise InputError(f"the scale {self.low} to {self.high} cannot be used", self.name, "take 1 to 5")
        if not self.question.strip() or self.samples < 1:
            raise InputError("a question and at least one sample are needed", self.name)
        super().prepare()

    def model_identities(self) -> Mapping[str, str]:
        return super().model_identities() if self.model else {}

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        self.prepare()
        options = tuple(str(grade) for grade in range(self.low, self.high + 1))
        found = self.opened().answers([self._prompt(e) for e in examples], options, samples=self.samples)
        return [{self.called: self._value(grades)} for grades in found]

    def _prompt(self, example: Example) -> tuple[str, ...]:
        steps = f"\nSteps: {self.steps}" if self.steps else ""
        labelled = (f"{label}: {example.text(field)}" for label, field in self._places)
        return (f"question: {self.question}{steps}", *labelled)

    def _value(self, grades: Answer) -> Score:
        parts = {f"grade {self.low + k}": p for k, p in enumerate(grades.probabilities)}
        value = sum((self.low + k) * p for k, p in enumerate(grades.probabilities))
        return Score(
            min(max(value, float(self.low)), float(self.high)),
            parts=parts,
            cut={self._places[-1][1]: grades.cut} if grades.cut else {},
        )
