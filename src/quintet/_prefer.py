"""`quintet.prefer`: which of two outputs is better, or which of several systems."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from quintet import _api as api
from quintet.core.metric import Metric
from quintet.core.options import Columns
from quintet.core.plain import Cells, Foreign, JsonObject
from quintet.core.result import Result
from quintet.errors import InputError, UnknownName
from quintet.io.columns import parse_columns
from quintet.io.dialects import pair_of
from quintet.io.records import Record
from quintet.io.score_rows import scores_by_system
from quintet.io.sources import rows_from_python
from quintet.io.tables import open_table
from quintet.io.values import is_messages, plain
from quintet.stats.preference import (
    OVERALL,
    Agreement,
    Preference,
    Scale,
    Table,
    agreement,
    bradley_terry,
    differences,
    preferences,
)

EQUAL = ("tie", "equal", "both", "same", "draw", "0", "tie (bothbad)", "none")


@dataclass(frozen=True)
class Preferences:
    """What `quintet.prefer` gives.

    >>> rows = [{"id": "1", "output": "a b", "references": ["a b c"]}]
    >>> found = quintet.prefer(rows, [{**rows[0], "output": "x"}], metrics="rouge-1", cache=False)
    >>> found.better
    'A'
    """

    pairs: tuple[Preference, ...]
    """By dimension and pair of systems; `overall` where there is more than one dimension."""
    rows: tuple[Cells, ...]
    """Of the first two systems: by item, P(first better), P(tie) and P(second better) of each dimension."""
    strengths: Mapping[str, float]
    """Bradley-Terry, over all pairs of systems; they sum to one."""
    agreement: Mapping[str, Agreement] = field(default_factory=dict)
    """By dimension, of a file that says which of two outputs people chose."""
    read_as: tuple[str, ...] = ()
    """Which columns of the files became which fields."""

    def __getitem__(self, dimension: str) -> Preference:
        """The first pair of systems on one dimension."""
        return next(pair for pair in self.pairs if pair.dimension == dimension)

    @property
    def better(self) -> str:
        """The strongest system."""
        return max(self.strengths, key=lambda name: self.strengths[name])


def prefer(
    *systems: object,
    task: str | None = None,
    names: Sequence[str] | None = None,
    dims: Sequence[str] | str | None = None,
    metrics: Sequence[str | Metric] | str | None = None,
    columns: Columns = None,
    labels: str | None = None,
    model: str | None = None,
    fast: bool = False,
    slope: float = Scale().slope,
    threshold: float = Scale().threshold,
    cache: bool | str | Path = True,
) -> Preferences:
    """Which system's outputs are better, per dimension and overall, with a probability for each item.

    `systems`: files, lists of rows or Results, one per system, matched by id; or one file of `chosen` and `rejected`.
    Scored files and Results need no task. `labels`: in a file of two outputs (`response_a`, `response_b`), the column
    that says which of them people chose; `chosen` and `rejected` say so themselves.

    >>> rows = [{"id": "1", "output": "a b", "references": ["a b c"]}]
    >>> found = quintet.prefer(rows, [{**rows[0], "output": "x"}], metrics="rouge-1", cache=False)
    >>> found["rouge-1"].first > 0.9
    True
    """
    options = {"dims": dims, "metrics": metrics, "model": model, "fast": fast, "cache": cache}
    pair = _pair(systems[0], columns) if len(systems) == 1 else None
    choices: dict[str, int] = {}
    read: list[str] = []
    wanted = len(systems) if pair is None else len(pair[:2])
    if names is not None and (isinstance(names, str) or len(names) != wanted):
        had = f"{names!r}" if isinstance(names, str) else f"{len(names)}"
        raise InputError(f"names has {had}, and there are {wanted} to be named", todo="give a list with one for each")
    if labels is not None and pair is None:
        raise InputError("labels belong to a file of two outputs", todo="give one file with chosen and rejected")
    if pair is not None:
        given = [api.score(systems[0], task, columns=one, **options) for one in pair[:2]]  # type: ignore[arg-type]
        tables = dict(zip(names or pair[2], map(_table, given), strict=True))
        choices = _choices(given[0], pair[2], labels)
        read = [given[0].read_as.replace(f"output={pair[2][0]}", f"output={pair[2][0]} or {pair[2][1]}")]
    elif len(systems) == 1:
        result = api.score(systems[0], task, columns=columns, **options)  # type: ignore[arg-type]
        tables, read = _of_one_file(result), [result.read_as]
    else:
        tables = _tables(systems, names, task, columns, options, read)
    if len(tables) < 2:
        raise InputError("one system", todo="give two files or more, or one with systems, or chosen and rejected")
    scale = Scale(slope, threshold)
    pairs = [
        found
        for one, two in itertools.combinations(tables, 2)
        for found in preferences(tables[one], tables[two], (one, two), scale)
    ]
    if not pairs:
        raise InputError("no item has scores of both", todo="rows are matched by id: give the same ids in both files")
    first, second, *_ = tables
    apart = differences(tables[first], tables[second])
    agreed = {name: found for name, values in apart.items() if (found := agreement(values, choices)) is not None}
    return Preferences(
        tuple(pairs),
        tuple(_rows(apart, scale)),
        _strengths(list(tables), pairs),
        agreed,
        tuple(dict.fromkeys(filter(None, read))),
    )


def _choices(result: Result, pair: tuple[str, str], labels: str | None) -> dict[str, int]:
    """By id: 1 where people chose the first output, -1 the second, 0 neither."""
    found = {}
    for row in result.rows:
        if row.item.example is None:
            continue
        if labels is None:
            choice = 1 if pair == ("chosen", "rejected") else 0
        elif labels not in row.item.carried:
            raise UnknownName("column of labels", labels, row.item.carried)
        else:
            choice = _choice(row.item.carried[labels], pair, row.item.example.id)
        found[row.item.example.id] = choice
    return found


def _choice(value: object, pair: tuple[str, str], where: str) -> int:
    said = str(value).strip().lower()
    for choice, name, place, letter in ((1, pair[0], "1", "a"), (-1, pair[1], "2", "b")):
        ordinal = {"1": "first", "2": "second"}[place]
        if said in (name.lower(), place, letter, ordinal, f"model_{letter}", f"system_{letter}", f"output_{letter}"):
            return choice
    if said in EQUAL:
        return 0
    raise InputError(f"{value!r} says neither output", where, f"write {pair[0]}, {pair[1]} or tie; or a, b; or 1, 2")


def _tables(
    systems: Sequence[Foreign],
    names: Sequence[str] | None,
    task: str | None,
    columns: Columns,
    options: Cells,
    read: list[str],
) -> dict[str, Table]:
    found: dict[str, Table] = {}
    for number, system in enumerate(systems):
        is_file = isinstance(system, str | Path)
        name = names[number] if names else Path(system).name.partition(".")[0] if is_file else "ABCDEFGH"[number % 8]
        name = name if name not in found else f"{name} {number + 1}"
        if isinstance(system, Result):
            found[name] = _table(system)
        elif is_file and task is None and not options["metrics"]:
            dims = options["dims"]
            wanted = [dims] if isinstance(dims, str) else dims
            ((_, ids, values),) = scores_by_system([str(system), str(system)], wanted)[:1]
            found[name] = {label: dict(zip(ids, column, strict=True)) for label, column in values.items()}
        else:
            result = api.score(system, task, columns=columns, **options)
            read.append(result.read_as)
            found[name] = _table(result)
    return found


def _table(result: Result) -> Table:
    ids = [row.item.example.id if row.item.example else "" for row in result.rows]
    return {
        label: {at: value if column.higher_is_better else -value for at, value in zip(ids, result[label], strict=True)}
        for label, column in result.columns.items()
    }


def _of_one_file(result: Result) -> dict[str, Table]:
    """The systems of one file; what shares a group (a document, a question) is one item."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for row in result.rows:
        example = row.item.example
        if example is None or example.system is None:
            continue
        for label, column in result.columns.items():
            value = row.scores[label].value if column.higher_is_better else -row.scores[label].value
            found.setdefault(example.system, {}).setdefault(label, {})[example.group or example.id] = value
    return dict(found)


def _pair(data: object, columns: Columns) -> tuple[JsonObject, JsonObject, tuple[str, str]] | None:
    """The columns of the two outputs; where they are whole conversations, the reply and what stands before it."""
    settled = {field: list(found) for field, found in parse_columns(columns).items()}
    if isinstance(data, Result):
        return None
    with open_table(data) if isinstance(data, str | Path) else rows_from_python(data) as table:
        pair = pair_of(table.columns)
        row = next((record.values for record in table if isinstance(record, Record)), {})
    if pair is None:
        return None

    def own(name: str) -> JsonObject:
        parts = {"output": "reply", "history": "turns", "question": "asked"}
        talk = is_messages(plain(row.get(name)))
        return {**({f: f"{name}:{part}" for f, part in parts.items()} if talk else {"output": name}), **settled}

    return own(pair[0]), own(pair[1]), pair


def _rows(found: Mapping[str, Mapping[str, float]], scale: Scale) -> Iterable[Cells]:
    for at in dict.fromkeys(at for values in found.values() for at in values):
        row: JsonObject = {"id": at}
        for name, values in found.items():
            chances = scale.chances(values.get(at, math.nan))
            for kind, chance in zip(("first", "tie", "second"), chances, strict=True):
                row[f"{name}.{kind}"] = None if math.isnan(chance) else round(chance, 4)
        yield row


def _strengths(names: Sequence[str], pairs: Sequence[Preference]) -> dict[str, float]:
    whole = [pair for pair in pairs if pair.dimension == OVERALL] or pairs
    wins = np.zeros((len(names), len(names)))
    for pair in whole:
        one, two = names.index(pair.first_name), names.index(pair.second_name)
        wins[one, two] += pair.n * pair.win_rate
        wins[two, one] += pair.n * (1.0 - pair.win_rate)
    return dict(zip(names, map(float, bradley_terry(wins)), strict=True))
