"""A Composite: a metric made of other metrics. USR's regression, IM2's weights, GRUEN's sum and quintet's own
evaluator are all composites; the engine scores each ingredient once, however many composites ask for it."""

from __future__ import annotations

import dataclasses
import hashlib
from abc import abstractmethod
from collections.abc import Mapping, Sequence

from quintet.core.example import Example
from quintet.core.metric import Metric, Row


@dataclasses.dataclass(frozen=True)
class Composite(Metric):
    @property
    @abstractmethod
    def ingredients(self) -> tuple[Metric, ...]:
        """The metrics whose scores are combined; equal ones are scored once."""

    @abstractmethod
    def combine(self, example: Example, rows: Mapping[Metric, Row]) -> Row:
        """The scores of one example from those of the ingredients."""

    def combine_all(self, examples: Sequence[Example], tables: Mapping[Metric, Sequence[Row]]) -> list[Row]:
        """One row per example; empty outputs get the composite's own value for them."""
        return [
            self.combine(example, {metric: table[position] for metric, table in tables.items()})
            if self.has_text(example)
            else self._score_empty(example)
            for position, example in enumerate(examples)
        ]

    def check(self, example: Example) -> None:
        super().check(example)
        for metric in self.ingredients:
            metric.check(example)

    def prepare(self) -> None:
        for metric in self.ingredients:
            metric.prepare()

    def foresee(self, examples: Sequence[Example]) -> None:
        for metric in self.ingredients:
            metric.foresee(examples)

    @property
    def fields(self) -> tuple[str, ...]:
        own = super().fields
        return tuple(dict.fromkeys((*own, *(f for metric in self.ingredients for f in metric.fields))))

    def model_identities(self) -> Mapping[str, str]:
        """The ingredients as one digest: a change in any of them changes the signature."""
        lines = "\n".join(metric.signature for metric in self.ingredients)
        return {"ingredients": hashlib.sha256(lines.encode("utf-8")).hexdigest()[:12]}

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        self.foresee(examples)
        return self.combine_all(examples, {metric: metric.score(examples) for metric in self.ingredients})
