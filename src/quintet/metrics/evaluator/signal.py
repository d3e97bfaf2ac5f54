"""What the signals share: a field that is not there gives no number and says so; the judge is asked once per chunk."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from quintet.core.cache import current
from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Metric, Row
from quintet.core.score import no_score
from quintet.errors import ModelError
from quintet.metrics.evaluator.reading import fact_of, read_document, references_of, turns_of
from quintet.models.open import identity, open_model
from quintet.models.roles import PairModel, PairScore

Pair = tuple[str, tuple[str, ...]]
Answers = Mapping[Pair, PairScore]
Asking = Generator[Sequence[Pair], Answers, Row]
"""Says which pairs it wants judged, is sent the answers, returns the scores of one example."""


class _Begun(NamedTuple):
    """An example whose signal has said what it asks."""

    example: Example
    asking: Asking
    pairs: Sequence[Pair]


LOGIT = 30.0
"""Answers of the judge are log-odds, shown between minus and plus this."""

_HAS: dict[str, Callable[[Example], object]] = {
    "source": lambda example: read_document(example.source or ""),
    "context": fact_of,
    "references": references_of,
    "history": lambda example: turns_of(example, 1),
}


def log_odds(name: str, question: str, *needs: str) -> Dimension:
    return Dimension(name, question, needs, -LOGIT, LOGIT)


@dataclass(frozen=True)
class EvaluatorSignal(Metric):
    """One ingredient of the evaluator's blends, to be had on its own as well."""

    paper: ClassVar[str] = "quintet"
    version: ClassVar[int] = 3
    """2: opening and closing quotes are told apart, endings that stand as tokens joined. 3: marks of lists, headings
    and emphasis are left out."""

    @property
    def reads(self) -> tuple[str, ...]:
        """Fields that are looked at where they are there, beyond those that must be."""
        return ()

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*super().fields, *self.reads)))

    def check(self, example: Example) -> None:
        """Nothing is refused: a blend goes on without a signal, and a signal alone says what it lacks."""

    def lacking(self, example: Example) -> str | None:
        """A field that is absent or empty (a fact that reads `_nofact` is) and without which nothing can be said."""
        fields = self._lacks(example)
        return None if None in fields else fields[0]

    def _lacks(self, example: Example) -> list[str | None]:
        """For each dimension the first field that it needs and that is not there."""
        return [next((f for f in d.needs if not _HAS[f](example)), None) for d in self.dimensions]

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        lacks = [self._lacks(example) for example in examples]
        able = [example for example, fields in zip(examples, lacks, strict=True) if None in fields]
        found = iter(self._signals(able) if able else ())
        rows: list[Row] = []
        for fields in lacks:
            row = next(found) if None in fields else {}
            rows.append(
                {
                    d.name: row[d.name] if field is None else no_score(f"no {field}")
                    for d, field in zip(self.dimensions, fields, strict=True)
                }
            )
        return rows

    def _asks(self, examples: Sequence[Example]) -> bool:
        """Whether its model will be asked about any of them."""
        return any(self.has_text(example) and self.lacking(example) is None for example in examples)

    @abstractmethod
    def _signals(self, examples: Sequence[Example]) -> Sequence[Row]:
        """The scores of examples that have what one dimension or more needs."""


@dataclass(frozen=True)
class JudgeSignal(EvaluatorSignal):
    """A signal that the multi-task encoder gives."""

    model: str = "bundled:evaluator"

    model_role: ClassVar[str] = "judge"
    heads: ClassVar[tuple[str, ...]] = ()
    """Which of its questions are read."""

    def opened(self) -> PairModel:
        judge: PairModel = open_model(self.model, self.model_role)
        for head in self.heads:
            if head not in judge.labels:
                raise ModelError(f"{judge.identity} does not answer the question {head!r}, which {self.name} asks")
        return judge

    def prepare(self) -> None:
        self.opened()

    def model_identities(self) -> Mapping[str, str]:
        return {"model": identity(self.model)}

    def prefetch(self, examples: Sequence[Example]) -> None:
        """Signals of a document look at the same windows of it: the judge reads each once for all of them."""
        judge = self.opened()
        able = [example for example in examples if self.has_text(example) and self.lacking(example) is None]
        begun = {id(example): _Begun(example, asking, next(asking))
                 for example in able for asking in (self._asking(judge, example),)}  # fmt: skip
        self._prefetched().update(begun)
        judge.prefetch([pair for one in begun.values() for pair in one.pairs], self._joint(judge))

    def _prefetched(self) -> dict[int, _Begun]:
        """What has been asked for and not been scored yet, by the identity of the example."""
        return current().store((JudgeSignal, self), dict)

    def _begun(self, judge: PairModel, example: Example) -> _Begun:
        known = self._prefetched().pop(id(example), None)
        if known is not None and known.example is example:
            return known
        asking = self._asking(judge, example)
        return _Begun(example, asking, next(asking))

    def _joint(self, judge: PairModel) -> bool:
        """How its heads want a pair to be read. All alike: one pass answers them."""
        ways = {head in judge.joint for head in self.heads}
        if len(ways) > 1:
            raise ModelError(
                f"{judge.identity} reads pairs for {', '.join(self.heads)} in two ways; {self.name} asks once"
            )
        return ways == {True}

    @abstractmethod
    def _asking(self, judge: PairModel, example: Example) -> Asking: ...

    def _signals(self, examples: Sequence[Example]) -> list[Row]:
        judge = self.opened()
        begun = [self._begun(judge, example) for example in examples]
        # All pairs of a chunk at once, so that they can be batched by length; equal ones are judged once.
        pairs = list(dict.fromkeys(pair for one in begun for pair in one.pairs))
        answers = dict(zip(pairs, judge.score(pairs, joint=self._joint(judge)), strict=True))
        return [_sent(one.asking, answers) for one in begun]


def _sent(asking: Asking, answers: Answers) -> Row:
    try:
        asking.send(answers)
    except StopIteration as done:
        row: Row = done.value
        return row
    raise ModelError("a signal asked twice; this is a bug")


def clipped(value: float) -> float:
    return min(max(float(value), -LOGIT), LOGIT)


def probability(logit: float) -> float:
    from math import tanh

    return 0.5 * (1.0 + tanh(0.5 * logit))
