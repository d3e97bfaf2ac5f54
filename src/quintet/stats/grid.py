"""A Grid: a table of cells with a caption, written as text, Markdown or LaTeX (booktabs)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

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
