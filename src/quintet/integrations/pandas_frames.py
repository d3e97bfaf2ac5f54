"""Importing this gives pandas frames `df.quintet`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from quintet.core.plain import Foreign
from quintet.integrations.frames import Accessor


@pd.api.extensions.register_dataframe_accessor("quintet")
class PandasAccessor(Accessor):
    def _with(self, columns: Mapping[str, Sequence[float | None]]) -> Foreign:
        # By place, whatever the index: labels may repeat.
        return self._frame.assign(**{name: pd.array(values, dtype="float64") for name, values in _plain(columns)})


def _plain(columns: Mapping[str, Sequence[float | None]]) -> list[tuple[str, list[float]]]:
    return [(name, [float("nan") if v is None else v for v in values]) for name, values in columns.items()]
