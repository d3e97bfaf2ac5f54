"""Scores a batch of columns in place: what Ray Data, Spark and Hugging Face datasets call for each batch of theirs.

Nothing of theirs is imported: a batch is a data frame or a dict of columns, and comes back as the same kind with one
column for each score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from quintet.core.item import Scored
from quintet.core.layout import score_layout
from quintet.io.items import Explicit, Items
from quintet.io.sources import rows_from_python
from quintet.runner.executors import nothing
from quintet.runner.plan import Plan
from quintet.runner.run import run
from quintet.runner.store import NoStore


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
    between_chunks: Callable[[], None] = nothing

    def __call__(self, batch: Any) -> Any:
        if isinstance(batch, Iterator):
            return map(self._score, batch)
        return self._score(batch)

    def _score(self, batch: Any) -> Any:
        frame = hasattr(batch, "assign")
        given = batch if frame or type(batch) is dict else dict(batch)
        with Items(rows_from_python(given), self.task, self.columns, skip_bad=self.skip_bad) as items:
            scored = list(
                run(
                    self.plan.columns, items, NoStore(), skip_bad=self.skip_bad, between_chunks=self.between_chunks
                )
            )  # fmt: skip
        added = self._added(tuple(map(str, given)), scored)
        if frame:
            return batch.assign(**added)
        return {**given, **_like(given, added)}

    def _added(self, names: tuple[str, ...], scored: list[Scored]) -> dict[str, list[float]]:
        labels = [column.label for column in self.plan.columns]
        named = score_layout(names, labels).names
        return {named[label]: [row.scores[label].value for row in scored] for label in labels}


def _like(given: Mapping[str, Any], added: dict[str, list[float]]) -> dict[str, Any]:
    """Arrays where the batch has arrays, as Ray Data wants them."""
    if not any(hasattr(values, "dtype") for values in given.values()):
        return dict(added)
    import numpy as np

    return {name: np.array(values, dtype=np.float64) for name, values in added.items()}
