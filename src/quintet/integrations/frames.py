"""`df.quintet.score(task=…)` on pandas and polars frames.

    import quintet.integrations.pandas_frames   # or polars_frames

registers the accessor; this module holds what both do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from quintet.core.result import Result
from quintet.integrations.chosen import choose, score_columns


class Accessor:
    """The frame with a column for each score; the frame itself is not changed."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def score(self, task: str | None = None, **options: Any) -> Any:
        """A new frame: all columns, then the scores. Options: dims, metrics, columns, model, skip_bad, cache."""
        return self._with(score_columns(self.result(task, **options), [str(name) for name in self._frame.columns]))

    def result(self, task: str | None = None, **options: Any) -> Result:
        """The scores with their evidence and signatures."""
        return choose(task, **options).score(self._frame)

    def means(self, task: str | None = None, **options: Any) -> dict[str, float]:
        return self.result(task, **options).means()

    def _with(self, columns: Mapping[str, Sequence[float | None]]) -> Any:
        raise NotImplementedError
