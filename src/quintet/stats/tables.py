"""Records as tables in the papers' form: a row per metric, a column per dimension, the best in bold.

The caption says what a reader must know to compare the numbers with others: set, n, level, statistic, interval, what
was left out. JSON and CSV carry the records whole.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import groupby

from quintet.data.published import Figures, published
from quintet.errors import InputError, UnknownName
from quintet.stats.compare import Difference
from quintet.stats.correlate import BY_DOCUMENT, BY_SYSTEM, POOLED
from quintet.stats.records import CEILING, Record, decimal

# A Grid: a table of cells with a caption, written as text, Markdown or LaTeX (booktabs).

Escape = Callable[[str], str]


@dataclass(frozen=True)
class Cell:
    value: str
    aside: str = ""
    """What follows the value and is never bold: an interval."""
    best: bool = False
    mark: str = ""
    """A sign that the caption explains, such as †."""


@dataclass(frozen=True)
class Column:
    label: str
    group: str = ""
    """A heading shared with neighbouring columns."""


@dataclass(frozen=True)
class Row:
    name: str
    cells: Sequence[Cell]
    apart: bool = False
    """Set off by a rule from the rows above."""


@dataclass(frozen=True)
class Grid:
    corner: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    caption: str
    """In whole sentences."""

    @property
    def grouped(self) -> bool:
        return any(column.group for column in self.columns)

    @property
    def has_best(self) -> bool:
        return any(cell.best for row in self.rows for cell in row.cells)


def to_text(grid: Grid) -> str:
    """Columns lined up; the best is marked with a star."""
    flags = max((len(cell.mark) + cell.best for row in grid.rows for cell in row.cells), default=0)
    body = [[_plain(cell, flags) for cell in row.cells] for row in grid.rows]
    widths = [max(map(len, cells)) for cells in zip([c.label for c in grid.columns], *body, strict=True)]
    # A heading over several columns may be wider than they are: the last of them makes room.
    for group, places in _groups(grid.columns):
        room = sum(widths[i] for i in places) + 2 * (len(places) - 1)
        widths[places[-1]] += max(0, len(group) - room)
    left = max(len(name) for name in (grid.corner, *(row.name for row in grid.rows)))

    def line(name: str, cells: Sequence[str]) -> str:
        parts = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]
        return "  ".join([name.ljust(left), *parts]).rstrip()

    heads = [line(grid.corner, [column.label for column in grid.columns])]
    if grid.grouped:
        over = [g.ljust(sum(widths[i] for i in p) + 2 * (len(p) - 1)) for g, p in _groups(grid.columns)]
        heads.insert(0, "  ".join([" " * left, *over]).rstrip())
    rule = "-" * (left + sum(widths) + 2 * len(widths))
    lines = [*heads, rule]
    for row, cells in zip(grid.rows, body, strict=True):
        lines += [rule] * row.apart + [line(row.name, cells)]
    return "\n".join([*lines, "", grid.caption + (" * best." if grid.has_best else "")])


def _plain(cell: Cell, flags: int) -> str:
    # Marks and the star have a place of their own in every cell, so that what follows stays lined up.
    value = cell.value + (cell.mark + "*" * cell.best).ljust(flags)
    return f"{value} {cell.aside}".rstrip()


def _groups(columns: Sequence[Column]) -> list[tuple[str, list[int]]]:
    runs = groupby(range(len(columns)), key=lambda i: columns[i].group)
    return [(group, list(places)) for group, places in runs]


def to_markdown(grid: Grid) -> str:
    escape = _markdown_escape
    lines = [_pipes([grid.corner, *(_joined(c) for c in grid.columns)], escape), "|---|" + "---|" * len(grid.columns)]
    for row in grid.rows:
        cells = [_markdown_cell(cell) for cell in row.cells]
        lines.append(_pipes([_emphasis(row), *cells], lambda text: text))
    return "\n".join([*lines, "", escape(grid.caption + (" Best in bold." if grid.has_best else ""))])


def _markdown_cell(cell: Cell) -> str:
    value = _markdown_escape(cell.value)
    value = f"**{value}**" if cell.best else value
    return f"{value}{cell.mark} {_markdown_escape(cell.aside)}".rstrip()


def _emphasis(row: Row) -> str:
    return f"*{_markdown_escape(row.name)}*" if row.apart else _markdown_escape(row.name)


def _pipes(cells: Sequence[str], escape: Escape) -> str:
    return "| " + " | ".join(escape(cell) for cell in cells) + " |"


def _markdown_escape(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*").replace("_", "\\_")


def to_latex(grid: Grid) -> str:
    """A table environment; the preamble needs \\usepackage{booktabs}. Intervals stand below their values."""
    lines = [r"\begin{table}[t]", r"\centering", r"\small", rf"\begin{{tabular}}{{l{'c' * len(grid.columns)}}}"]
    lines.append(r"\toprule")
    if grid.grouped:
        lines += _latex_heads(grid.columns)
    heads = [latex_escape(column.label) for column in grid.columns]
    lines += [" & ".join([latex_escape(grid.corner), *heads]) + r" \\", r"\midrule"]
    for row in grid.rows:
        lines += [r"\midrule"] * row.apart
        lines.append(" & ".join([latex_escape(row.name), *(_latex_cell(cell) for cell in row.cells)]) + r" \\")
        if any(cell.aside for cell in row.cells):
            asides = [rf"{{\scriptsize {_latex_number(cell.aside)}}}" if cell.aside else "" for cell in row.cells]
            lines.append(" & ".join(["", *asides]) + r" \\")
    caption = latex_escape(grid.caption + (" Best in bold." if grid.has_best else ""))
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", rf"\caption{{{caption}}}", r"\end{table}"])


def _latex_heads(columns: Sequence[Column]) -> list[str]:
    heads, rules = [""], []
    for group, places in _groups(columns):
        heads.append(rf"\multicolumn{{{len(places)}}}{{c}}{{{latex_escape(group)}}}")
        if group:
            rules.append(rf"\cmidrule(lr){{{places[0] + 2}-{places[-1] + 2}}}")
    return [" & ".join(heads) + r" \\", "".join(rules)]


def _latex_cell(cell: Cell) -> str:
    value = _latex_number(cell.value)
    return (rf"\textbf{{{value}}}" if cell.best else value) + latex_escape(cell.mark)


def _latex_number(text: str) -> str:
    """A hyphen before a number is a minus."""
    return re.sub(r"(?<!\w)-(?=[.\d])", "$-$", latex_escape(text))


_LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    **{sign: "\\" + sign for sign in "&%$#_{}"},
    "ρ": r"$\rho$", "τ": r"$\tau$", "Δ": r"$\Delta$", "†": r"$^{\dagger}$", "–": "--", "−": "$-$", "≥": r"$\geq$",
    "<": "$<$", ">": "$>$", "→": r"$\to$", "×": r"$\times$",
}  # fmt: skip


def latex_escape(text: str) -> str:
    return "".join(_LATEX.get(sign, sign) for sign in text)


def _joined(column: Column) -> str:
    return f"{column.group} {column.label}".strip()


WRITERS: dict[str, Callable[[Grid], str]] = {"text": to_text, "markdown": to_markdown, "latex": to_latex}


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


# Many sets in one table: a row per set and dimension, ours with its interval beside people and published figures.

OTHER = "‡"
LIKE_FOR_LIKE = 5
"""Rows by which a published figure may differ from ours before it is marked."""


def overview_table(records: Sequence[Record], answered: Mapping[tuple[str, str], str], format: str = "text") -> str:
    """`answered`: set and dimension to the task's dimension that answers it."""
    people = {(r.set, r.dimension): r for r in records if r.kind == CEILING}
    ours = [r for r in records if r.kind != CEILING]
    columns = ["answered by", "n", "level", "Spearman ρ [95 %]", "people", "UniEval", "best small", "best large"]
    rows = [_row(r, people.get((r.set, r.dimension)), answered.get((r.set, r.dimension), "")) for r in ours]
    return WRITERS[format](Grid("set, dimension", [Column(name) for name in columns], rows, _caption(ours)))


def _row(record: Record, ceiling: Record | None, by: str) -> Row:
    known = [figures for figures in published(record.set) if record.dimension in figures.values]
    interval = f"[{decimal(record.low)}, {decimal(record.high)}]" if math.isfinite(record.low) else ""
    small = [figures for figures in known if figures.kind == "small"]
    cells = [
        Cell(by),
        Cell(str(record.n)),
        Cell(record.level),
        Cell(decimal(record.spearman, 3), interval),
        Cell("" if ceiling is None else decimal(ceiling.spearman)),
        _best([figures for figures in small if figures.metric == "UniEval"], record, named=False),
        _best(small, record),
        _best([figures for figures in known if figures.kind == "large"], record),
    ]
    return Row(f"{record.set} {record.dimension}", cells)


def _best(known: Sequence[Figures], record: Record, named: bool = True) -> Cell:
    if not known:
        return Cell("")
    best = max(known, key=lambda figures: figures.values[record.dimension])
    return Cell(
        decimal(best.values[record.dimension], 3),
        best.metric if named else "",
        mark="" if like_for_like(best, record) else OTHER,
    )


def like_for_like(figures: Figures, record: Record) -> bool:
    """Whether a published figure was taken at the same level and on the same rows, as far as it says."""
    rows = figures.rows is None or abs(figures.rows - record.n) <= LIKE_FOR_LIKE
    return rows and figures.level == record.level


def _caption(records: Sequence[Record]) -> str:
    levels = dict.fromkeys(record.level for record in records)
    told = [
        f"Spearman ρ with human ratings at the level in which each set is usually quoted ({', '.join(levels)})"
        if len(levels) > 1 or POOLED not in levels
        else "Spearman ρ with human ratings, pooled",
        f"{records[0].confidence * 100:g} % bootstrap intervals ({records[0].resamples:,} resamples)",
        "People: each annotator against the mean of the others",
        "UniEval, best small (under 1 B parameters) and best large (an LLM): as published, see docs/agreement.md",
        f"{OTHER} published for other rows or another level",
    ]
    return ". ".join(told) + "."
