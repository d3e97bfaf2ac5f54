"""A calibration: for each dimension a monotone map from our score to what a user's own people said, and a threshold.

`quintet calibrate` fits it and writes it as JSON; a `Calibrated` metric applies it, and names it in its signature.
"""

from __future__ import annotations

import hashlib
import json
import math
from bisect import bisect_right
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TypedDict

from quintet._checked import KeyTwice, checked, distinct
from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.metric import Composite, Metric, Row
from quintet.core.plain import Cells, JsonObject
from quintet.core.score import Score
from quintet.errors import InputError

FORMAT = "quintet-calibration-1"
ACCEPTED = ".accepted"
"""Ends the name of the column that says 1 or 0."""
_TODO = "make it again with quintet calibrate"


class _CurveTable(TypedDict):
    scores: list[float]
    values: list[float]
    low: float
    high: float
    higher_is_better: bool
    threshold: float | None


@dataclass(frozen=True, slots=True)
class Curve:
    """Straight lines between knots, flat outside them; values never fall as the score gets better."""

    scores: tuple[float, ...]
    values: tuple[float, ...]
    low: float = 0.0
    high: float = 1.0
    """The ends of the scale that people used."""
    higher_is_better: bool = True
    """Of the score before calibration; afterwards more is always better."""
    threshold: float | None = None
    """The worst score before calibration that is still accepted."""

    def value(self, score: float) -> float:
        if math.isnan(score):
            return score
        above = bisect_right(self.scores, score)
        if above in (0, len(self.scores)):
            return self.values[0 if above == 0 else -1]
        left, right = self.scores[above - 1], self.scores[above]
        # Rounding must not lift a value over its neighbour's.
        value = self.values[above - 1] + (score - left) / (right - left) * (self.values[above] - self.values[above - 1])
        lowest, highest = sorted(self.values[above - 1 : above + 1])
        return min(max(value, lowest), highest)

    def accepts(self, score: float) -> float:
        """1 or 0; NaN without a score or a threshold."""
        if math.isnan(score) or self.threshold is None:
            return math.nan
        return float(score >= self.threshold if self.higher_is_better else score <= self.threshold)


@dataclass(frozen=True)
class Calibration:
    """Scores on the scale of your own labels: what `quintet.calibrate` makes.

    >>> quintet.Calibration({}).source
    'calibration'
    """

    curves: Mapping[str, Curve]
    """By dimension, or by metric where metrics were named one by one."""
    signatures: Mapping[str, str] = field(default_factory=dict)
    """What the maps were fitted to; none for a column of scores made elsewhere."""
    facts: Cells = field(default_factory=dict)
    """All that is known about the fit: the file's other contents."""
    source: str = "calibration"

    def digest(self, name: str) -> str:
        """Eight digits over the map and the threshold of one dimension."""
        plain = json.dumps(curve_json(self.curves[name]), sort_keys=True)
        return hashlib.sha256(plain.encode("utf-8")).hexdigest()[:8]

    def check(self, name: str, signature: str) -> None:
        """Refuses scores of another metric, model or setting than the map was fitted to; releases may differ."""
        made_for = self.signatures.get(name, "")
        if made_for and _unreleased(made_for) != _unreleased(signature):
            what = f"{name} was calibrated for other scores ({_first_difference(made_for, signature)})"
            raise InputError(what, self.source, _TODO)


@dataclass(frozen=True)
class Calibrated(Composite):
    """One dimension of a metric on the scale of a user's labels, and whether it passes the threshold."""

    metric: Metric
    of: str
    curve: Curve
    digest: str

    name = "calibrated"

    @property
    def dimensions(self) -> tuple[Dimension, ...]:  # type: ignore[override]
        inner = next(d for d in self.metric.dimensions if d.name == self.of)
        mapped = Dimension(self.of, inner.question, inner.needs, self.curve.low, self.curve.high)
        if self.curve.threshold is None:
            return (mapped,)
        return mapped, Dimension(accepted_name(self.of), f"Is {self.of} as good as was asked for?", inner.needs)

    @property
    def ingredients(self) -> tuple[Metric, ...]:
        return (self.metric,)

    @property
    def signature(self) -> str:
        return f"{self.metric.signature}|calibration:{self.digest}"

    def lacks(self, present: Container[str]) -> list[str]:
        return self.metric.lacks(present)

    def combine(self, example: Example, rows: Mapping[Metric, Row]) -> Row:
        found = rows[self.metric][self.of]
        value = self.curve.value(found.value)
        parts = {**found.parts, "uncalibrated": found.value}
        row = {self.of: Score(value, found.spans, parts, found.flags, found.cut)}
        if self.curve.threshold is not None:
            row[accepted_name(self.of)] = Score(self.curve.accepts(found.value), flags=found.flags)
        return row


def accepted_name(dimension: str) -> str:
    return dimension + ACCEPTED


def curve_json(curve: Curve) -> JsonObject:
    return {
        "scores": list(curve.scores),
        "values": list(curve.values),
        "low": curve.low,
        "high": curve.high,
        "higher_is_better": curve.higher_is_better,
        "threshold": curve.threshold,
    }


def write_calibration(calibration: Calibration, path: Path) -> None:
    dimensions = {
        name: {
            "signature": calibration.signatures.get(name, ""),
            **curve_json(curve),
            **calibration.facts.get(name, {}),
        }
        for name, curve in calibration.curves.items()
    }
    text = json.dumps({"format": FORMAT, "dimensions": dimensions}, indent=1, ensure_ascii=False, allow_nan=False)
    try:
        path.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror})", str(path), "name another file with --out") from None


def read_calibration(path: str | Path) -> Calibration:
    where = str(path)
    try:
        plain = json.loads(Path(path).read_text(encoding="utf-8"), object_pairs_hook=distinct)
    except KeyTwice as error:
        raise InputError(f"is not a calibration ({error})", where, _TODO) from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", where, "quintet calibrate writes such a file") from None
    except (ValueError, RecursionError):
        raise InputError("is not a calibration (not JSON)", where, _TODO) from None
    tables = plain.get("dimensions") if isinstance(plain, dict) and plain.get("format") == FORMAT else None
    if not isinstance(tables, dict) or not tables:
        raise InputError(f"is not a calibration (format {FORMAT})", where, _TODO)
    curves, signatures, facts = {}, {}, {}
    for name, table in tables.items():
        try:
            curves[name] = _curve(table)
            signatures[name] = str(table.get("signature", ""))
        except (InputError, ValueError) as problem:
            detail = " ".join((problem.what if isinstance(problem, InputError) else str(problem)).split())[:120]
            raise InputError(f"the map of {name} is damaged ({detail})", where, _TODO) from None
        known = {*curve_json(curves[name]), "signature"}
        facts[name] = {key: value for key, value in table.items() if key not in known}
    return Calibration(curves, signatures, facts, where)


def _curve(table: Cells) -> Curve:
    given = checked(table, _CurveTable, "")
    scores, values = tuple(map(float, given["scores"])), tuple(map(float, given["values"]))
    up, threshold = given["higher_is_better"], given["threshold"]
    if not scores or len(scores) != len(values) or not all(map(math.isfinite, (*scores, *values))):
        raise ValueError("scores and values are not pairs of numbers")
    if any(a >= b for a, b in pairwise(scores)):
        raise ValueError("scores do not rise")
    if any((a > b) if up else (a < b) for a, b in pairwise(values)):
        raise ValueError("values are not monotone")
    low, high = float(given["low"]), float(given["high"])
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError("low and high are no scale")
    if threshold is not None and not math.isfinite(threshold):
        raise ValueError("the threshold is no number")
    return Curve(scores, values, low, high, up, None if threshold is None else float(threshold))


def _unreleased(signature: str) -> str:
    return "|".join(part for part in signature.split("|") if not part.startswith("quintet:"))


def _first_difference(made_for: str, given: str) -> str:
    old, new = made_for.split("|"), given.split("|")
    pair = next(((a, b) for a, b in zip(old, new, strict=False) if a != b), (made_for, given))
    return f"{pair[0]}, not {pair[1]}"
