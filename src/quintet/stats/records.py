"""A Record: one correlation with all that is needed to quote it."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

from quintet.core.plain import JsonObject
from quintet.stats.correlate import BY_DOCUMENT, BY_SYSTEM

METRIC, CEILING = "metric", "ceiling"
HUMAN = "people (leave one out)"
"""What a ceiling's record is called in the place of a metric."""


@dataclass(frozen=True)
class Record:
    set: str
    metric: str
    dimension: str
    level: str
    n: int
    """Items that were used."""
    pearson: float
    spearman: float
    kendall: float
    low: float
    high: float
    """Bootstrap interval of the statistic that `interval_of` names."""
    signature: str
    interval_of: str = "spearman"
    confidence: float = 0.95
    resampled: str = ""
    """What was drawn again: items, documents, systems or both."""
    resamples: int = 0
    groups: int = 0
    """Items, documents or systems that the correlation ran over or was averaged over."""
    skipped: int = 0
    """Documents without a correlation: constant scores or ratings."""
    dropped: int = 0
    """Items without a score or a rating."""
    excluded: tuple[str, ...] = ()
    """Systems left out on purpose."""
    variant: str = ""
    """Which form of the set's texts was scored."""
    accuracy: float = math.nan
    """Pairwise accuracy with tie calibration, where asked for."""
    epsilon: float = math.nan
    against: str = ""
    """The metric that this one was tested against."""
    difference: float = math.nan
    difference_low: float = math.nan
    difference_high: float = math.nan
    p: float = math.nan
    p_holm: float = math.nan
    kind: str = METRIC
    """`metric`, or `ceiling` for people judged as if they were a metric."""

    def value(self, statistic: str = "") -> float:
        return float(getattr(self, statistic or self.interval_of))

    def to_json(self) -> JsonObject:
        """Plain data; what is undefined becomes None."""
        plain = dataclasses.asdict(self)
        plain["excluded"] = list(self.excluded)
        return {key: None if isinstance(v, float) and not math.isfinite(v) else v for key, v in plain.items()}

    def line(self, digits: int = 2) -> str:
        """As one writes it in a paper: `n=360, pooled Spearman .61 [.54, .68]`."""
        number = f"n={self.n}"
        if self.level in (BY_DOCUMENT, BY_SYSTEM):
            number += f" in {self.groups} {'documents' if self.level == BY_DOCUMENT else 'systems'}"
        text = f"{number}, {self.level} {self.interval_of.capitalize()} {decimal(self.value(), digits)}"
        if math.isfinite(self.low):
            text += f" [{decimal(self.low, digits)}, {decimal(self.high, digits)}]"
        notes = [f"{self.skipped} documents skipped"] if self.skipped else []
        notes += [f"{self.dropped} items dropped"] if self.dropped else []
        return f"{text} ({', '.join(notes)})" if notes else text

    def __str__(self) -> str:
        return self.line()


def decimal(value: float, digits: int = 2) -> str:
    """Without the leading zero, as papers print correlations: .61, -.08, 1.00."""
    if not math.isfinite(value):
        return "–"
    text = f"{value:.{digits}f}"
    if text.lstrip("-").startswith("0."):
        text = text.replace("0.", ".", 1)
    return "." + "0" * digits if text == "-." + "0" * digits else text
