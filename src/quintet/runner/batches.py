"""Scores a batch of columns in place: what Ray Data, Spark and Hugging Face datasets call for each batch of theirs.

Nothing of theirs is imported: a batch is a data frame or a dict of columns, and comes back as the same kind with one
column for each score.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from quintet.core.calibration import ACCEPTED, Calibrated, Calibration, accepted_name
from quintet.core.item import Scored
from quintet.core.plain import Cells, Foreign, JsonObject
from quintet.core.result import score_layout
from quintet.errors import InputError
from quintet.io.items import Explicit, Items
from quintet.io.sources import rows_from_python
from quintet.runner.plan import Column, Plan
from quintet.runner.run import run
from quintet.runner.store import NoStore

# A plan whose scores go through a user's calibration.


def calibrated_plan(plan: Plan, calibration: Calibration) -> Plan:
    """Every column that the calibration knows goes through its map; one with a threshold gets a second column, 1 or 0.

    The metrics below are stored as they are without a calibration, so nothing is scored again.
    """
    known = [column.label for column in plan.columns]
    if not set(known) & set(calibration.curves):
        names = ", ".join(calibration.curves)
        raise InputError(f"calibrates {names}; none of them is scored", calibration.source, "name one with --dims")
    columns: list[Column] = []
    for column in plan.columns:
        curve = calibration.curves.get(column.label)
        if curve is None:
            columns.append(column)
            continue
        calibration.check(column.label, column.metric.signature)
        metric = Calibrated(column.metric, column.dimension, curve, calibration.digest(column.label))
        columns.append(Column(column.label, metric, column.dimension))
        if curve.threshold is not None:
            columns.append(Column(accepted_name(column.label), metric, accepted_name(column.dimension)))
    return Plan(tuple(columns), plan.left_out)


def asked_dimensions(dims: Sequence[str] | None) -> list[str] | None:
    """`consistency.accepted` comes with consistency."""
    return None if dims is None else list(dict.fromkeys(name.removesuffix(ACCEPTED) for name in dims))


@dataclass(frozen=True)
class BatchScorer:
    """Called with a batch, gives it back with scores; called with an iterator of batches (Spark), gives an iterator.

    Models are opened when the first batch comes and stay open in the process. A row without a score has NaN. A batch
    counts as one chunk up to 64 rows: batches of 64 give the bytes that one machine gives.
    """

    plan: Plan
    task: str | None = None
    columns: Explicit = None
    skip_bad: bool = False

    def __call__(self, batch: Foreign) -> Foreign:
        if isinstance(batch, Iterator):
            return map(self._score, batch)
        return self._score(batch)

    def _score(self, batch: Foreign) -> Foreign:
        frame = hasattr(batch, "assign")
        given = batch if frame or type(batch) is dict else dict(batch)
        with Items(rows_from_python(given), self.task, self.columns, skip_bad=self.skip_bad) as items:
            scored = list(run(self.plan.columns, items, NoStore(), skip_bad=self.skip_bad))
        added = self._added(tuple(map(str, given)), scored)
        if frame:
            return batch.assign(**added)
        return {**given, **_like(given, added)}

    def _added(self, names: tuple[str, ...], scored: list[Scored]) -> dict[str, list[float]]:
        labels = [column.label for column in self.plan.columns]
        named = score_layout(names, labels).names
        return {named[label]: [row.scores[label].value for row in scored] for label in labels}


def _like(given: Cells, added: dict[str, list[float]]) -> JsonObject:
    """Arrays where the batch has arrays, as Ray Data wants them."""
    if not any(hasattr(values, "dtype") for values in given.values()):
        return dict(added)
    import numpy as np

    return {name: np.array(values, dtype=np.float64) for name, values in added.items()}
