"""Our figure for every printed one, and how the two may be compared."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np

from quintet import _api
from quintet.core.blend import read_table
from quintet.core.example import Example
from quintet.data.benchmark import Benchmark, load
from quintet.data.published import author_scores
from quintet.data.rated import Floats, canonical
from quintet.errors import UnknownName, UserError
from quintet.metrics.gruen.redundancy import Redundancy
from quintet.reproduce.printed import Block, Column, Paper, Row, Slip, Table, paper
from quintet.stats.agreement import pairwise_agreement, regress
from quintet.stats.correlate import correlate
from quintet.stats.inputs import Ratings, ratings_of

# Figures of the papers' tables that are no correlations: each a function of what is needed and a cell's place.

Load = Callable[[Column], Benchmark]


def agreement(load: Load, block: Block, row: Row, column: Column) -> float:
    """Of people with people (USR, Table 1)."""
    table = load(column).annotators[_named(block, row)]
    return float(pairwise_agreement(table).values[column.statistic])


def system_means(load: Load, block: Block, row: Row, column: Column) -> float:
    """A system's mean rating (USR, Table 2)."""
    return load(column).system_means()[_named(block, row)][column.dimension]


def regression(load: Load, block: Block, row: Row, column: Column) -> float:
    """Of the overall rating on the other qualities, over the mean ratings of all responses (USR, section 3.5)."""
    ratings = dict(load(column).ratings)
    return regress(ratings, ratings.pop("overall")).spearman


def redundancy(load: Load, block: Block, row: Row, column: Column) -> str:
    """Which of GRUEN's four tests a pair of sentences fails (Table 10)."""
    return Redundancy().flags(*block.facts["texts"][row.label])


def non_redundancy(load: Load, block: Block, row: Row, column: Column) -> float:
    """GRUEN's y_r of a text (Table 11)."""
    (found,) = Redundancy().score([Example(block.facts["texts"][row.label])])
    return found["non-redundancy"].value


def overlap(load: Load, block: Block, row: Row, column: Column) -> float:
    """ROUGE of one output beside its reference (UniEval, Table 1)."""
    output, reference = block.facts["texts"]["output"], block.facts["texts"]["reference"]
    (found,) = _api.load(row.label.lower()).score([Example(output, references=(reference,))])
    return next(iter(found.values())).value


def category_data(load: Load, block: Block, row: Row, column: Column) -> str:
    """In which of IM2's sets the ratings of a quality stand (Table 11)."""
    part, _, quality = row.label.partition(" ")
    name = next(
        (name for name in block.facts["sets"] if f"{part}/{quality}" in _parts(load(replace(column, set=name)))), ""
    )
    return name.rpartition("/")[2].upper()


def _parts(benchmark: Benchmark) -> set[str]:
    return {str(example.id).rpartition("/")[0] for example in benchmark.examples}


def weights(load: Load, block: Block, row: Row, column: Column) -> float:
    """IM2's published weights (Table 2)."""
    rows = [r for category in ("nuf", "cr", "ies", "im2") for r in read_table(f"im2/published/{category}")["signals"]]
    return float(next(r["weight"] for r in rows if r["label"] == row.label))


def _named(block: Block, row: Row) -> str:
    same: Mapping[str, str] = block.facts.get("same", {})
    return same.get(row.label, canonical(row.label) if block.facts["measure"] == "agreement" else row.label)


MEASURES: Mapping[str, Callable[[Load, Block, Row, Column], float | str]] = {
    "agreement": agreement,
    "system-means": system_means,
    "regression": regression,
    "redundancy": redundancy,
    "non-redundancy": non_redundancy,
    "weights": weights,
    "overlap": overlap,
    "category-data": category_data,
}


EQUAL, LATER, MODEL, PROTOCOL, NOT_HERE = MARKS = (
    "equal",
    "later run",
    "recomputed",
    "protocol unstated",
    "not possible",
)
"""equal: from the authors' predictions, or by a metric without a model and the paper's protocol: must be as printed.
later run: from predictions that the authors released later. recomputed: by a metric on models, named in the cell.
protocol unstated: the paper does not say how. not possible: and why."""
_MARK_OF = {"authors": EQUAL, "exact": EQUAL, "later": LATER, "protocol": PROTOCOL, "model": MODEL}
_SLOT = re.compile(r"\{([a-z0-9-]+)\}")
BUNDLED = "bundled models, not the paper's"


@dataclass(frozen=True)
class Figure:
    row: Row
    column: Column
    printed: str
    ours: float | str | None
    mark: str
    why: str = ""
    """Which models, or why there is no figure."""
    slip: Slip | None = None

    @property
    def value(self) -> float | None:
        """As printed, as a number."""
        try:
            return float(self.printed)
        except ValueError:
            return None

    @property
    def difference(self) -> float | None:
        """Ours less the printed one."""
        if self.value is None or not isinstance(self.ours, float):
            return None
        return self.ours - self.value

    @property
    def differs(self) -> bool:
        """Marked equal, and further off than rounding explains; a slip of the paper is measured by what is right."""
        if self.mark != EQUAL or not self.printed:
            return False
        if not isinstance(self.ours, float) or self.value is None:
            return self.ours != self.printed
        if self.slip is not None and self.slip.ours is None:
            return False
        right = self.value if self.slip is None or self.slip.ours is None else self.slip.ours
        return not abs(self.ours - right) <= 0.505 * 10.0 ** -_decimals(self.printed)


def _decimals(printed: str) -> int:
    return len(printed.partition(".")[2])


@dataclass
class Reproduction:
    """What is asked once for all cells: sets, predictions of the authors, scores."""

    folder: str | Path | None = None
    models: Mapping[str, str] = field(default_factory=dict)
    bundled: bool = False
    """The bundled models stand in for those that are not given."""
    exact_only: bool = False
    """Leave out what is not marked equal."""
    rows: int | None = None
    """At most so many items of a set."""
    cache: bool | str | Path = True
    _sets: dict[tuple[str, str], Benchmark | str] = field(default_factory=dict)
    _scores: dict[tuple[str, ...], Floats | None] = field(default_factory=dict)

    def table(self, paper: Paper, table: Table) -> list[Figure]:
        self._check_slots(paper)
        return [figure for block in table.blocks for row in block.rows for figure in self._row(paper, block, row)]

    def _check_slots(self, paper: Paper) -> None:
        for name in self.models:
            if name not in paper.slots:
                raise UnknownName(f"model of {paper.name}", name, paper.slots)

    def _row(self, paper: Paper, block: Block, row: Row) -> Iterator[Figure]:
        figures: list[Figure] = []
        for place, (column, printed) in enumerate(zip(block.columns, row.cells, strict=True)):
            if column.average:
                figures.append(
                    replace(_average(row, column, printed, figures), slip=block.slips.get((row.label, place)))
                )
                continue
            try:
                ours, mark, why = self._figure(paper, block, row, column)
            except UserError as problem:
                ours, mark, why = None, NOT_HERE, str(problem)
            if isinstance(ours, float):
                ours = ours * column.scale if math.isfinite(ours) else None
            figures.append(Figure(row, column, printed, ours, mark, why, block.slips.get((row.label, place))))
        yield from figures

    def _figure(self, paper: Paper, block: Block, row: Row, column: Column) -> tuple[float | str | None, str, str]:
        measure = str(block.facts.get("measure", ""))
        if measure in MEASURES:
            mark = PROTOCOL if measure in ("regression", "overlap") else EQUAL
            return MEASURES[measure](self.benchmark, block, row, column), mark, ""
        kind, _, rest = paper.source(block, row, column).partition(" ")
        if kind == "none":
            return None, NOT_HERE, rest
        mark = _MARK_OF[kind]
        if self.exact_only and mark != EQUAL:
            for name in column.over or (column.set,):
                self.benchmark(replace(column, set=name))
            return None, mark, "can be computed: name the table"
        why = ""
        if kind == "model":
            rest, why = self._with_models(rest)
            if not rest:
                return None, NOT_HERE, why
        if column.with_ and kind != "authors":
            rest += ("," if ":" in rest else ":") + column.with_
        scores = partial(self._released, rest) if kind in ("authors", "later") else partial(self._computed, rest)
        over = [replace(column, set=name) for name in column.over] or [column]
        each = [value for one in over if (value := self._of_set(one, scores)) is not None]
        if len(each) < len(over):
            return None, NOT_HERE, why or f"no scores for {column.dimension}"
        return float(np.mean(each)), mark, why

    def _of_set(self, column: Column, scores: Callable[[Benchmark, str], Floats | None]) -> float | None:
        benchmark = self.benchmark(column)
        wanted = benchmark.dimensions if column.every else (column.dimension,)
        found = [_correlation(benchmark, replace(column, dimension=one), scores(benchmark, one)) for one in wanted]
        defined = [value for value in found if value is not None]
        return float(np.mean(defined)) if defined else None

    def _with_models(self, spec: str) -> tuple[str, str]:
        """The metric with its models filled in, and what they are; an empty one, and what lacks."""
        asked = _SLOT.findall(spec)
        lacking = [name for name in asked if name not in self.models]
        if lacking and not self.bundled:
            return "", f"needs a model: {' and '.join(lacking)}"
        if not asked and not self.bundled:
            return "", "bundled models only: ask with --bundled"
        if not lacking:
            filled = _SLOT.sub(lambda match: self.models[match[1]], spec)
            return filled, " + ".join(self.models[name] for name in asked)
        name, _, parameters = spec.partition(":")
        kept = [part for part in parameters.split(",") if part and not _SLOT.search(part)]
        own = [part for part in kept if not part.startswith(("mode=", "layer="))]
        return f"{name}:{','.join(own)}".rstrip(":"), BUNDLED

    def benchmark(self, column: Column) -> Benchmark:
        key = (column.set, column.variant)
        if key not in self._sets:
            try:
                self._sets[key] = _thinned(load(column.set, self.folder, column.variant), self.rows)
            except UserError as problem:
                self._sets[key] = f"data: {problem}"
        found = self._sets[key]
        if isinstance(found, str):
            raise UserError(found)
        return found

    def _released(self, named: str, benchmark: Benchmark, dimension: str) -> Floats | None:
        metric, own = _metric_and_dimension(named, dimension)
        if self.rows is not None:
            benchmark = load(benchmark.name, self.folder, benchmark.variant)
        return author_scores(benchmark.name, self.folder)[metric].get(own)

    def _computed(self, spec: str, benchmark: Benchmark, dimension: str) -> Floats | None:
        key = (benchmark.name, benchmark.variant, spec, dimension)
        if key not in self._scores:
            found = {s.metric: s.values for s in _api.score_benchmark(benchmark, [spec], [dimension], None, self.cache)}
            values = next(iter(found.values())) if len(found) == 1 else found.get(f"{spec}/{dimension}")
            values = values.get(dimension) if isinstance(values, Mapping) else values
            self._scores[key] = None if values is None else np.asarray(values, dtype=float)
        return self._scores[key]


def reproduce(key: str, tables: Sequence[str], work: Reproduction) -> dict[str, list[Figure]]:
    """The figures of a paper's tables, by table: all tables, or those named."""
    wanted = paper(key)
    named = [wanted.table(id) for id in tables] or [t for t in wanted.tables if not t.again]
    return {t.id: work.table(wanted, t) for t in named}


def _metric_and_dimension(named: str, dimension: str) -> tuple[str, str]:
    """`CTC(D)(CNN/DM)/consistency`: the slash inside brackets belongs to the name."""
    name, slash, own = named.rpartition("/")
    return (name, own) if slash and ")" not in own else (named, dimension)


def _thinned(benchmark: Benchmark, rows: int | None) -> Benchmark:
    """At most so many items, evenly spaced; sets rated by the dialogue stay whole."""
    if rows is None or rows >= len(benchmark) or benchmark.unit != "example":
        return benchmark
    kept = np.linspace(0, len(benchmark) - 1, rows).astype(int)
    return replace(
        benchmark,
        examples=tuple(benchmark.examples[i] for i in kept),
        ratings={name: values[kept] for name, values in benchmark.ratings.items()},
        annotators={name: table[kept] for name, table in benchmark.annotators.items()},
        raters=None,
    )


def _correlation(benchmark: Benchmark, column: Column, scores: Floats | None) -> float | None:
    if scores is None:
        return None
    whole = ratings_of(benchmark)
    ratings = whole.without(column.exclude)
    if column.unanimous:
        ratings = ratings.unanimous(column.unanimous)
    place = {name: i for i, name in enumerate(whole.ids)}
    own = np.asarray(scores, dtype=float)[[place[name] for name in ratings.ids]]
    return _value(ratings, own, column)


def _value(ratings: Ratings, scores: Floats, column: Column) -> float:
    layout = ratings.layout()
    layout.check(column.level)
    found = correlate(ratings.rating(column.dimension), scores, layout, column.level, (column.statistic,))
    return float(found.values[column.statistic][0, 0])


def _average(row: Row, column: Column, printed: str, before: list[Figure]) -> Figure:
    """Of the row's other figures of the same statistic; as certain as the least certain of them."""
    same = [f for f in before if f.column.statistic == column.statistic and not f.column.average and f.printed]
    known = [f.ours for f in same if isinstance(f.ours, float)]
    if not same or len(known) < len(same):
        why = next((f.why for f in same if f.ours is None), "no other figures")
        return Figure(row, column, printed, None, NOT_HERE, why)
    worst = max(same, key=lambda f: MARKS.index(f.mark))
    return Figure(row, column, printed, float(np.mean(known)), worst.mark, worst.why)
