"""Importing this gives polars frames `df.quintet`; a LazyFrame is collected first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from quintet.core.plain import Foreign
from quintet.integrations.frames import Accessor


@pl.api.register_dataframe_namespace("quintet")
class PolarsAccessor(Accessor):
    def _with(self, columns: Mapping[str, Sequence[float | None]]) -> Foreign:
        new = [pl.Series(name, list(values), dtype=pl.Float64) for name, values in columns.items()]
        return self._frame.with_columns(new)


@pl.api.register_lazyframe_namespace("quintet")
class LazyAccessor(PolarsAccessor):
    def __init__(self, frame: Foreign) -> None:
        super().__init__(frame.collect())
