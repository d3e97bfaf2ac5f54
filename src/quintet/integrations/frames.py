"""`df.quintet.score(task=…)` on pandas and polars frames.

    import quintet.integrations.pandas_frames   # or polars_frames

registers the accessor; this module holds what both do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Unpack

from quintet.core.plain import Foreign
from quintet.core.result import Result
from quintet.integrations.chosen import Choice, choose, score_columns


class Accessor:
    """The frame with a column for each score; the frame itself is not changed."""

    def __init__(self, frame: Foreign) -> None:
        self._frame = frame

    def score(self, task: str | None = None, **options: Unpack[Choice]) -> Foreign:
        """A new frame: all columns, then the scores. Options: dims, metrics, columns, model, skip_bad, cache."""
        return self._with(score_columns(self.result(task, **options), [str(name) for name in self._frame.columns]))

    def result(self, task: str | None = None, **options: Unpack[Choice]) -> Result:
        """The scores with their evidence and signatures."""
        return choose(task, **options).score(self._frame)

    def means(self, task: str | None = None, **options: Unpack[Choice]) -> dict[str, float]:
        return self.result(task, **options).means()

    def _with(self, columns: Mapping[str, Sequence[float | None]]) -> Foreign:
        raise NotImplementedError
