"""The papers' tables as data: one TOML file a paper.

A table has blocks of rows under common columns (or is one block itself). What a block leaves out its table says:

    set, variant, exclude    which items: a benchmark, the form of its texts, systems left out
    dimension                which rating; `every`: each rating of the set, the figure being their mean
    level, statistic         how it was correlated
    over                     sets whose figures are averaged
    with                     further parameters of the metric
    pick                     which of a row's several sources; its dimension and its statistic can say so, too
    columns                  tables of these names; a list stands for one column after another, the last name fastest.
                             { average = true }: the mean of the row's other figures of the same statistic
    cells                    a line a row: the label, then one figure a column ("-": none printed; "drawn": a bar or a
                             point without a number); "# ": a heading
    bars_of                  a figure of the paper that draws these tables
    sources                  label to source, before those of the paper
    none                     why nothing here can be computed
    slips                    figures that the paper has wrong, or that two of its tables print differently
    measure                  what the figures are, where they are no correlations (`quintet.reproduce.figures`)

A source is one of

    authors METRIC[/DIMENSION]   the authors' own predictions
    later METRIC[/DIMENSION]     predictions the authors released later, of another run
    exact SPEC                   a metric without a model, by the protocol of the paper
    protocol SPEC                a metric without a model, where the paper does not say how it was computed
    model SPEC                   a metric on models, named in braces: --model NAME=MODEL fills them
    none REASON

and stands under the set it is for or under "*"; `"=" = SET` takes over another set's. `$dimension` is the column's.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from itertools import product
from typing import Any

from quintet.core.plain import Cells
from quintet.errors import UnknownName

DRAWN = "drawn"
PAPERS = ("ctc", "usr", "unieval", "gruen", "im2")


@dataclass(frozen=True)
class Column:
    set: str = ""
    variant: str = ""
    over: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    dimension: str = ""
    every: bool = False
    unanimous: str = ""
    """Only the items on which all raters agree in this dimension."""
    level: str = "pooled"
    statistic: str = ""
    with_: str = ""
    pick: str = ""
    average: bool = False
    scale: float = 1.0
    heading: str = ""


@dataclass(frozen=True)
class Slip:
    why: str
    ours: float | None = None
    """What the data give; `None`: the figure stands elsewhere in the paper."""


@dataclass(frozen=True)
class Row:
    label: str
    group: str
    cells: tuple[str, ...]
    """As printed; empty where nothing was."""


@dataclass(frozen=True)
class Block:
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    sources: Cells
    slips: Mapping[tuple[str, int], Slip]
    facts: Cells
    """Everything else the file says of it: none, measure, same, texts."""


@dataclass(frozen=True)
class Table:
    id: str
    title: str
    note: str
    blocks: tuple[Block, ...]
    again: bool = False
    """Its figures stand in other tables, too."""

    @property
    def name(self) -> str:
        return self.id.capitalize() if self.id.startswith("figure") else f"Table {self.id}"


@dataclass(frozen=True)
class Paper:
    key: str
    name: str
    citation: str
    tables: tuple[Table, ...]
    sources: Mapping[str, Cells] = field(default_factory=dict)
    slots: Mapping[str, str] = field(default_factory=dict)
    """Models that sources name in braces, and what the paper had there."""

    def table(self, id: str) -> Table:
        wanted = id.lower().removeprefix("table").strip()
        for table in self.tables:
            if table.id.lower() == wanted:
                return table
        raise UnknownName(f"table of {self.name}", id, [table.id for table in self.tables])

    def source(self, block: Block, row: Row, column: Column) -> str:
        """Where our figure comes from, or `none` and why there is none."""
        if "none" in block.facts:
            return f"none {block.facts['none']}"
        found = next(self._candidates(block, row.label, column.set), "none printed only")
        if isinstance(found, Mapping):
            found = next(found[key] for key in (column.dimension, column.pick, column.statistic, "*") if key in found)
        return str(found).replace("$dimension", column.dimension)

    def _candidates(self, block: Block, label: str, set: str) -> Iterator[Any]:
        own = self.sources.get(set, {})
        while own:
            tables = (block.sources, own) if own is self.sources.get(set) else (own,)
            yield from (table[label] for table in tables if label in table)
            if "*" in own:
                yield own["*"]
            own = self.sources.get(own.get("=", ""), {})
        yield from (table[label] for table in (block.sources, self.sources["*"]) if label in table)


@cache
def paper(key: str) -> Paper:
    if key.lower() not in PAPERS:
        raise UnknownName("paper", key, PAPERS)
    raw = tomllib.loads(files("quintet.reproduce").joinpath(f"{key.lower()}.toml").read_text(encoding="utf-8"))
    tables = tuple(_table(table) for table in raw["tables"])
    drawn = {t.id: t for t in tables}
    tables = tuple(_bars(table, drawn) if "bars_of" in table else drawn[table["id"]] for table in raw["tables"])
    return Paper(key.lower(), raw["name"], raw["paper"], tables, raw["sources"], raw.get("slots", {}))


_SHARED = (
    "set",
    "variant",
    "over",
    "exclude",
    "dimension",
    "every",
    "unanimous",
    "level",
    "statistic",
    "with",
    "scale",
)


def _table(raw: Cells) -> Table:
    parts = raw.get("blocks", [{}] if "columns" in raw else [])
    blocks = tuple(_block({**raw, **part}, raw) for part in parts)
    return Table(raw["id"], raw["title"], raw.get("note", ""), blocks)


def _bars(raw: Cells, drawn: Mapping[str, Table]) -> Table:
    blocks = tuple(block for id in raw["bars_of"] for block in drawn[id].blocks)
    note = f"The bars of Table {', '.join(raw['bars_of'])}. {raw.get('note', '')}".strip()
    return Table(raw["id"], raw["title"], note, blocks, again=True)


def _block(raw: Cells, table: Cells) -> Block:
    columns = _columns(raw)
    sources = {**table.get("sources", {}), **raw.get("sources", {})}
    slips = {(s["row"], s["column"] - 1): Slip(s["why"], s.get("ours")) for s in raw.get("slips", [])}
    known = {*_SHARED, "id", "title", "note", "blocks", "columns", "cells", "sources", "slips"}
    facts = {key: value for key, value in raw.items() if key not in known}
    return Block(columns, tuple(_rows(raw.get("cells", ""), len(columns))), sources, slips, facts)


def _columns(raw: Cells) -> tuple[Column, ...]:
    shared = {key: raw[key] for key in _SHARED if key in raw}
    found, varied = [], []
    for part in raw["columns"]:
        lists = {
            key: value if isinstance(value, list) else [value]
            for key, value in part.items()
            if key not in ("exclude", "over")
        }
        whole = {key: part[key] for key in ("exclude", "over") if key in part}
        for values in product(*lists.values()):
            own = {**shared, **whole, **dict(zip(lists, values, strict=True))}
            found.append({("with_" if key == "with" else key): value for key, value in own.items()})
            varied.append(own)
    several = {key for key in varied[0] | varied[-1] if len({str(one.get(key)) for one in varied}) > 1}
    several |= {"statistic"} if not several else set()
    shown = ("set", "dimension", "level", "with", "pick", "statistic")
    headings = [
        " ".join(_short(key, str(one[key])) for key in shown if key in several and key in one) for one in varied
    ]
    columns = [
        Column(**{**one, "exclude": tuple(one.get("exclude", ())), "over": tuple(one.get("over", ()))}) for one in found
    ]
    return tuple(
        replace(column, heading=f"average {heading}".strip() if column.average else heading)
        for column, heading in zip(columns, headings, strict=True)
    )


def _short(key: str, value: str) -> str:
    return value.rpartition("=")[2] if key == "with" else value.rpartition("/")[2] if key == "set" else value


def _rows(cells: str, columns: int) -> Iterator[Row]:
    group = ""
    for line in filter(None, cells.splitlines()):
        if line.startswith("# "):
            group = line[2:]
            continue
        words: Sequence[str] = line.split()
        values = tuple("" if word == "-" else word for word in words[len(words) - columns :])
        yield Row(" ".join(words[: len(words) - columns]), group, values)
