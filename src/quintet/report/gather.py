"""What a report is made of, gathered as rows go by: every value, and the texts of as many examples as it shows."""

from __future__ import annotations

import hashlib
import heapq
import math
import random
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from quintet.core.example import Example
from quintet.core.item import Scored
from quintet.core.result import Column

SHOWN_EXAMPLES = 2000
"""Beyond this many a report shows a sample; its figures are always over all rows."""
KEPT_ENDS = 25
"""The worst and best of each column are shown whatever the sample."""

Array = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Gathered:
    columns: tuple[Column, ...]
    left_out: Mapping[str, str]
    values: Mapping[str, Array]
    """By column, one per row; NaN where there is no score."""
    systems: tuple[str, ...]
    system: Codes
    """Per row: place in `systems`, -1 where the row names none."""
    group: Codes
    """Per row: what outputs of the same input share."""
    kept: Sequence[tuple[int, Scored]]
    """Rows whose texts are shown, with their place in the input."""

    @property
    def rows(self) -> int:
        return len(self.system)


@dataclass
class Gatherer:
    """`add` each row in order, then ask for what was `gathered`."""

    columns: tuple[Column, ...]
    shown: int
    values: dict[str, array[float]] = field(default_factory=dict)
    systems: dict[str, int] = field(default_factory=dict)
    system: array[int] = field(default_factory=lambda: array("l"))
    groups: dict[object, int] = field(default_factory=dict)
    group: array[int] = field(default_factory=lambda: array("l"))
    sample: list[tuple[int, Scored]] = field(default_factory=list)
    ends: dict[tuple[str, int], list[tuple[float, int, Scored]]] = field(default_factory=dict)
    random: random.Random = field(default_factory=lambda: random.Random(0))

    def add(self, scored: Scored) -> None:
        position = len(self.system)
        example = scored.item.example
        name = example.system if example is not None else None
        self.system.append(-1 if name is None else self.systems.setdefault(name, len(self.systems)))
        self.group.append(self.groups.setdefault(_group_key(example, position), len(self.groups)))
        for column in self.columns:
            value = scored.scores[column.label].value
            self.values.setdefault(column.label, array("d")).append(value)
            if not math.isnan(value):
                self._keep_end(column.label, value, position, scored)
        # Algorithm R: every row has the same chance to be among those shown.
        if len(self.sample) < self.shown:
            self.sample.append((position, scored))
        else:
            place = self.random.randrange(position + 1)
            if place < self.shown:
                self.sample[place] = (position, scored)

    def _keep_end(self, label: str, value: float, position: int, scored: Scored) -> None:
        for sign in (1, -1):
            heap = self.ends.setdefault((label, sign), [])
            entry = (sign * value, -position, scored)
            if len(heap) < KEPT_ENDS:
                heapq.heappush(heap, entry)
            elif entry[:2] > heap[0][:2]:
                heapq.heapreplace(heap, entry)

    def kept(self) -> list[tuple[int, Scored]]:
        chosen = dict(self.sample)
        for heap in self.ends.values():
            chosen.update((-negative, scored) for _, negative, scored in heap)
        return sorted(chosen.items(), key=lambda pair: pair[0])

    def gathered(self, left_out: Mapping[str, str]) -> Gathered:
        empty: array[float] = array("d")
        return Gathered(
            columns=self.columns,
            left_out=dict(left_out),
            values={c.label: np.array(self.values.get(c.label, empty), dtype=np.float64) for c in self.columns},
            systems=tuple(self.systems),
            system=np.array(self.system, dtype=np.intp),
            group=np.array(self.group, dtype=np.intp),
            kept=self.kept(),
        )


def gather(
    columns: Sequence[Column],
    rows: Iterable[Scored],
    left_out: Mapping[str, str] | None = None,
    shown: int = SHOWN_EXAMPLES,
) -> Gathered:
    """Reads `rows` once; memory grows by a few numbers per row and by the texts of the rows that are shown."""
    gatherer = Gatherer(tuple(columns), shown)
    for scored in rows:
        gatherer.add(scored)
    return gatherer.gathered(left_out or {})


def _group_key(example: Example | None, position: int) -> object:
    """The named group, or else the content of the input; a row without an input is a group of its own."""
    if example is None:
        return position
    if example.group is not None:
        return example.group
    inputs = [example.source, example.context, example.history, example.question]
    if all(value is None for value in inputs):
        return position
    return hashlib.blake2b(repr(inputs).encode("utf-8", "surrogatepass"), digest_size=16).digest()
