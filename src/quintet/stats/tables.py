"""Records as tables in the papers' form: a row per metric, a column per dimension, the best in bold.

The caption says what a reader must know to compare the numbers with others: set, n, level, statistic, interval, what
was left out. JSON and CSV carry the records whole.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from dataclasses import fields

from quintet.errors import InputError, UnknownName
from quintet.stats.compare import Difference
from quintet.stats.correlate import BY_DOCUMENT, BY_SYSTEM
from quintet.stats.grid import WRITERS, Cell, Column, Grid, Row
from quintet.stats.records import CEILING, Record, decimal

FORMATS = (*WRITERS, "csv", "json")
LABELS = {"pearson": "Pearson r", "spearman": "Spearman ρ", "kendall": "Kendall τ", "accuracy": "accuracy"}
SHORT = {"pearson": "r", "spearman": "ρ", "kendall": "τ", "accuracy": "acc"}
DIFFERS = "†"
ALPHA = 0.05


def records_table(
    records: Sequence[Record],
    format: str = "text",
    statistics: Sequence[str] = (),
    interval: bool = True,
    digits: int = 3,
) -> str:
    """One table for each set and level. `statistics`: by default the one that the interval is for."""
    if format == "json":
        return json.dumps([record.to_json() for record in records], ensure_ascii=False, indent=1)
    if format == "csv":
        return _csv([f.name for f in fields(Record)], [record.to_json() for record in records])
    if format not in WRITERS:
        raise UnknownName("format", format, FORMATS)
    for name in statistics:
        if name not in LABELS:
            raise UnknownName("statistic", name, LABELS)
    return "\n\n".join(WRITERS[format](grid) for grid in record_grids(records, statistics, interval, digits))


def record_grids(
    records: Sequence[Record], statistics: Sequence[str] = (), interval: bool = True, digits: int = 3
) -> list[Grid]:
    if not records:
        raise InputError("no records to make a table of")
    parts: dict[tuple[object, ...], list[Record]] = {}
    for record in records:
        key = (record.set, record.variant, record.level, record.excluded, record.interval_of)
        parts.setdefault(key, []).append(record)
    return [_grid(part, tuple(statistics) or (part[0].interval_of,), interval, digits) for part in parts.values()]


def _grid(records: list[Record], statistics: tuple[str, ...], interval: bool, digits: int) -> Grid:
    dimensions = list(dict.fromkeys(record.dimension for record in records))
    metrics = list(dict.fromkeys(r.metric for r in sorted(records, key=lambda r: r.kind == CEILING)))
    place = {(record.metric, record.dimension): record for record in records}
    ceilings = {record.metric for record in records if record.kind == CEILING}
    rows: list[Row] = []
    for metric in metrics:
        own = [place.get((metric, dimension)) for dimension in dimensions]
        cells = [_cell(record, s, records, interval, digits) for record in own for s in statistics]
        if len(dimensions) > 1:
            cells += [_average(own, s, place, metrics, dimensions, ceilings, digits) for s in statistics]
        first_ceiling = metric in ceilings and not any(row.apart for row in rows)
        rows.append(Row(metric, cells, apart=first_ceiling))
    headings = [*dimensions, *(["average"] if len(dimensions) > 1 else [])]
    if len(statistics) == 1:
        columns = [Column(name) for name in headings]
    else:
        columns = [Column(SHORT[s], name) for name in headings for s in statistics]
    return Grid("metric", columns, rows, caption(records, statistics, interval))


def _cell(record: Record | None, statistic: str, records: list[Record], interval: bool, digits: int) -> Cell:
    if record is None:
        return Cell("")
    value = record.value(statistic)
    rivals = [r.value(statistic) for r in records if r.dimension == record.dimension and r.kind != CEILING]
    aside = ""
    if interval and statistic == record.interval_of and math.isfinite(record.low):
        aside = f"[{decimal(record.low, digits)}, {decimal(record.high, digits)}]"
    mark = DIFFERS if statistic == record.interval_of and record.p_holm < ALPHA else ""
    return Cell(decimal(value, digits), aside, record.kind != CEILING and _is_best(value, rivals, digits), mark)


def _average(
    own: Sequence[Record | None],
    statistic: str,
    place: dict[tuple[str, str], Record],
    metrics: Sequence[str],
    dimensions: Sequence[str],
    ceilings: set[str],
    digits: int,
) -> Cell:
    """The mean over dimensions, for rows that have them all."""

    def mean(found: Sequence[Record | None]) -> float:
        values = [record.value(statistic) if record else math.nan for record in found]
        return sum(values) / len(values)

    value = mean(own)
    if not math.isfinite(value):
        return Cell("")
    rivals = [mean([place.get((m, d)) for d in dimensions]) for m in metrics if m not in ceilings]
    return Cell(
        decimal(value, digits), best=own[0] is not None and own[0].kind != CEILING and _is_best(value, rivals, digits)
    )


def _is_best(value: float, rivals: Sequence[float], digits: int) -> bool:
    """Best to the printed digit, among at least two: equals share the honour."""
    finite = [rival for rival in rivals if math.isfinite(rival)]
    return len(finite) > 1 and math.isfinite(value) and round(value, digits) >= round(max(finite), digits)


def caption(records: Sequence[Record], statistics: Sequence[str] = (), interval: bool = True) -> str:
    first = records[0]
    judged = [record for record in records if record.kind != CEILING] or list(records)
    statistics = tuple(statistics) or (first.interval_of,)
    named = ", ".join(LABELS[s] for s in statistics)
    parts = [f"{first.set + ': ' if first.set else ''}{named} with human ratings, {first.level}, {_numbers(judged)}"]
    if first.variant:
        parts[0] += f", texts {first.variant}"
    if first.excluded:
        parts[0] += f", without {', '.join(first.excluded)}"
    if interval and first.resampled and any(math.isfinite(r.low) for r in records):
        drawn = "documents and systems" if first.resampled == "both" else first.resampled
        what = "" if len(statistics) == 1 else f" of {LABELS[first.interval_of]}"
        parts.append(
            f"{first.confidence * 100:g} % bootstrap intervals{what} ({first.resamples:,} resamples of {drawn})"
        )
    tested = next((record.against for record in records if record.against), "")
    if tested:
        parts.append(f"{DIFFERS} differs from {tested} (p < .05 after Holm's correction)")
    if any(record.kind == CEILING for record in records):
        parts.append("People: each annotator against the mean of the others, averaged")
    dropped = max(record.dropped for record in judged)
    if dropped:
        parts.append(f"Up to {dropped} items without a score or rating dropped")
    return ". ".join(parts) + "."


def _numbers(records: Sequence[Record]) -> str:
    text = f"n = {_span([record.n for record in records])}"
    if records[0].level == BY_DOCUMENT:
        text += f" in {_span([record.groups for record in records])} documents"
        skipped = max(record.skipped for record in records)
        text += f" (up to {skipped} constant ones skipped)" if skipped else ""
    if records[0].level == BY_SYSTEM:
        text += f" from {_span([record.groups for record in records])} systems"
    return text


def _span(numbers: Sequence[int]) -> str:
    low, high = min(numbers), max(numbers)
    return f"{low}" if low == high else f"{low}–{high}"


def differences_table(differences: Sequence[Difference], format: str = "text", digits: int = 3) -> str:
    """A comparison of systems; one row per dimension and pair."""
    if format == "json":
        return json.dumps([each.to_json() for each in differences], ensure_ascii=False, indent=1)
    if format == "csv":
        return _csv([f.name for f in fields(Difference)], [each.to_json() for each in differences])
    if format not in WRITERS:
        raise UnknownName("format", format, FORMATS)
    if not differences:
        raise InputError("no differences to make a table of")
    pairs = {(each.first, each.second) for each in differences}
    columns = ["first", "second", "Δ [95 % interval]", "p (Holm)", "d_z", "P(first better)", "win/tie/loss", "verdict"]
    rows = [_difference_row(each, len(pairs) > 1, digits) for each in differences]
    numbers = _span([each.n for each in differences])
    told = [f"n = {numbers} paired examples"]
    if len(pairs) == 1:
        told.append(f"First: {differences[0].first}; second: {differences[0].second}")
    told.append("Δ: difference of means with its bootstrap interval over examples")
    told.append(f"p: paired sign-flip permutation test, Holm's correction over {len(differences)} tests")
    if any(each.more for each in differences):
        told.append("More: further examples to settle it at 80 % power, if the difference stays as it is")
    return WRITERS[format](Grid("dimension", [Column(name) for name in columns], rows, ". ".join(told) + "."))


def _difference_row(each: Difference, named: bool, digits: int) -> Row:
    interval = f"[{each.low:+.{digits}f}, {each.high:+.{digits}f}]"
    effect = f"{each.effect:+.2f}" if math.isfinite(each.effect) else "–"
    if each.better:
        verdict = f"{each.better} is better"
    else:
        verdict = "no difference" if each.more is None else f"open; {each.more:,} more"
    cells = [
        Cell(f"{each.mean_first:.{digits}f}"),
        Cell(f"{each.mean_second:.{digits}f}"),
        Cell(f"{each.difference:+.{digits}f}", interval),
        Cell("< .001" if each.p_holm < 0.001 else decimal(each.p_holm, 3)),
        Cell(effect),
        Cell(decimal(each.superiority, 2)),
        Cell(f"{each.wins}/{each.ties}/{each.losses}"),
        Cell(verdict),
    ]
    return Row(f"{each.dimension} ({each.first} → {each.second})" if named else each.dimension, cells)


def _csv(names: Sequence[str], rows: Sequence[dict[str, object]]) -> str:
    stream = io.StringIO()
    writer = csv.DictWriter(stream, names, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: "; ".join(v) if isinstance(v, list) else v for key, v in row.items()})
    return stream.getvalue().rstrip("\n")
