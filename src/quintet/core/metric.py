"""A Metric: gives one Score per example for each of its dimensions.

A metric is a frozen dataclass. Its fields are its parameters and, through them, its signature; it holds no state.
A subclass names itself, names its dimensions and implements `_score`. It may rely on this: every example has the
fields its dimensions need, and at least one character of output that is not white space.
"""

from __future__ import annotations

import dataclasses
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Container, Mapping, Sequence
from typing import ClassVar

from quintet._version import __version__
from quintet.core.dimension import Dimension
from quintet.core.example import VISIBLE, Example
from quintet.core.plain import Cells, JsonObject
from quintet.core.score import EMPTY_OUTPUT, Score
from quintet.errors import MissingField, QuintetError

# A Signature: one line that lets a stranger get the same number.


def signature(name: str, parameters: Cells, version: int, models: Mapping[str, str], release: str) -> str:
    """`name|parameter:value|…|model:DIGEST|v:1|quintet:0.1.0`; parameters in the order they are declared."""
    parts = [name]
    parts += [f"{key}:{_plain(value)}" for key, value in parameters.items() if key not in models]
    parts += [f"{key}:{identity}" for key, identity in models.items()]
    parts += [f"v:{version}", f"quintet:{release}"]
    return "|".join(parts)


def _plain(value: object) -> str:
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, (tuple, list)):
        return "+".join(_plain(item) for item in value)
    # A bar or colon inside a value would read as structure.
    return str(value).replace("%", "%25").replace("|", "%7C").replace("\n", "%0A")


CHARACTERS_PER_SUBWORD = 4
Row = Mapping[str, Score]
"""The scores of one example, by dimension name."""


@dataclasses.dataclass(frozen=True)
class Metric(ABC):
    """Scores examples by its dimensions; `quintet.register` shows one.

    >>> quintet.load("token-f1").signature.split("|")[0]
    'token-f1'
    """

    name: ClassVar[str]
    dimensions: ClassVar[tuple[Dimension, ...]]
    version: ClassVar[int] = 1
    """Raised whenever the numbers change."""
    paper: ClassVar[str] = ""

    def score(self, examples: Sequence[Example]) -> list[Row]:
        """Scores in the order of `examples`, which are not changed."""
        for example in examples:
            self.check(example)
        full = [i for i, example in enumerate(examples) if self.has_text(example)]
        found = self._score([examples[i] for i in full]) if full else []
        if len(found) != len(full):
            raise QuintetError(f"{self.name} returned {len(found)} rows for {len(full)} examples; this is a bug")
        rows = dict(zip(full, found, strict=True))
        return [rows[i] if i in rows else self._score_empty(example) for i, example in enumerate(examples)]

    @staticmethod
    def has_text(example: Example) -> bool:
        """Whether the output has a character one can see."""
        return VISIBLE.search(example.output) is not None

    def check(self, example: Example) -> None:
        """Raises MissingField, naming the example and the first dimension that cannot be answered."""
        for dimension in self.dimensions:
            for field in dimension.needs:
                if not example.has(field):
                    raise MissingField(field, example.id, dimension.name)

    def prepare(self) -> None:  # noqa: B027  most metrics have nothing to open
        """Opens the models this metric will ask for, so that what is missing is said before any row is scored."""

    def prefetch(self, examples: Sequence[Example]) -> None:  # noqa: B027  most metrics have nothing to plan
        """Tells models what `score` will ask of them, so that what several metrics need is computed once."""

    def work(self, example: Example) -> int:
        """About how many tokens a model would have to read for it; metrics that read a text many times say so."""
        return sum(len(example.text(field)) for field in self.fields) // CHARACTERS_PER_SUBWORD

    @property
    def fields(self) -> tuple[str, ...]:
        """Every field of an example that can change the score; the store keys results by them."""
        return tuple(dict.fromkeys(("output", *(f for d in self.dimensions for f in d.needs))))

    def lacks(self, present: Container[str]) -> list[str]:
        """Fields without which nothing can be answered, of those that an input does not have."""
        return [field for field in self.fields if field not in present]

    @property
    def parameters(self) -> JsonObject:
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}

    def model_identities(self) -> Mapping[str, str]:
        """For each parameter that names a model: what the model really is (name and digest)."""
        return {}

    @property
    def signature(self) -> str:
        return signature(self.name, self.parameters, self.version, self.model_identities(), __version__)

    @abstractmethod
    def _score(self, examples: Sequence[Example]) -> Sequence[Row]: ...

    def _score_empty(self, example: Example) -> Row:
        """An output without a visible character gets the worst value there is, and says so."""
        return {d.name: Score(_worst(d), flags=(EMPTY_OUTPUT,)) for d in self.dimensions}


def _worst(dimension: Dimension) -> float:
    if dimension.higher_is_better:
        return dimension.low
    return dimension.low if dimension.high is None else dimension.high


# A Composite: a metric made of other metrics. USR's regression, IM2's weights, GRUEN's sum and quintet's own
# evaluator are all composites; the engine scores each ingredient once, however many composites ask for it.


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

    def prefetch(self, examples: Sequence[Example]) -> None:
        for metric in self.ingredients:
            metric.prefetch(examples)

    @property
    def fields(self) -> tuple[str, ...]:
        own = super().fields
        return tuple(dict.fromkeys((*own, *(f for metric in self.ingredients for f in metric.fields))))

    def model_identities(self) -> Mapping[str, str]:
        """The ingredients as one digest: a change in any of them changes the signature."""
        lines = "\n".join(metric.signature for metric in self.ingredients)
        return {"ingredients": hashlib.sha256(lines.encode("utf-8")).hexdigest()[:12]}

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        self.prefetch(examples)
        return self.combine_all(examples, {metric: metric.score(examples) for metric in self.ingredients})
