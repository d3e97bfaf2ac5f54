"""What to score with: the arguments that scoring, gates, calibration, integrations and the service share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from quintet.core.calibration import Calibration
from quintet.core.metric import Metric

Columns = Mapping[str, str] | str | None
"""FIELD to COLUMN, also as `output=summary,source=article`."""


@dataclass(frozen=True)
class Options:
    """A task (all its dimensions, or those in `dims`), or metrics; a single name may stand for a list of one."""

    task: str | None = None
    dims: Sequence[str] | None = None
    metrics: Sequence[str | Metric] | None = None
    columns: Columns = None
    model: str | None = None
    task_file: str | Path | None = None
    fast: bool = False
    calibration: str | Path | Calibration | None = None
    skip_bad: bool = False
    cache: bool | str | Path = True

    def __post_init__(self) -> None:
        for name in ("dims", "metrics"):
            given = getattr(self, name)
            one = isinstance(given, str | Metric)
            object.__setattr__(self, name, (given,) if one and given else None if not given else tuple(given))

    @property
    def scores(self) -> bool:
        """Whether anything was asked for at all."""
        return bool(self.task or self.metrics)
