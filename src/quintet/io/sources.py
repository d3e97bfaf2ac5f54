"""Rows from Python: lists, dicts, Examples, parallel lists, pandas, polars, Hugging Face datasets, Arrow tables.

No data frame library is imported here: objects are known by the package their class comes from, or by the Arrow
stream interface. What is handed in is never changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from quintet.core.example import Example
from quintet.core.plain import Cells, Foreign
from quintet.errors import InputError, UnknownName
from quintet.io.columns import FIELDS
from quintet.io.records import Position, Record, RowItem, Table
from quintet.io.values import plain

_PLURALS = {
    "outputs": "output", "sources": "source", "contexts": "context", "reference": "references",
    "histories": "history", "ids": "id", "systems": "system", "groups": "group",
}  # fmt: skip


def rows_from_python(data: Foreign, /, **fields: object) -> Table:
    """A Table of `data`: a list of dicts, a dict of lists, a list of Examples, a list of outputs, a data frame.

    With `fields`, `data` is the list of outputs and each field a list beside it: `rows_from_python(outputs,
    sources=…, references=…)`.
    """
    if fields:
        return _parallel(data, fields)
    if isinstance(data, Example):
        return rows_from_python([data])
    package = type(data).__module__.partition(".")[0]
    if package == "pandas":
        return _pandas(data)
    if package == "polars":
        return _polars(data)
    if package == "datasets":
        return _hugging_face(data)
    if isinstance(data, Mapping):
        return _mapping(data)
    if hasattr(data, "__arrow_c_stream__"):
        return _arrow(data)
    if isinstance(data, (str, bytes)) or not isinstance(data, Iterable):
        todo = "pass a list of dicts, a dict of lists or a data frame"
        raise InputError(f"cannot take rows from a {type(data).__name__}", todo=todo)
    return _iterable(data)


def _parallel(outputs: object, fields: Cells) -> Table:
    columns = {"output": outputs}
    for given, values in fields.items():
        field = _PLURALS.get(given, given)
        if field not in FIELDS:
            raise UnknownName("field", given, FIELDS)
        if values is not None:
            columns[field] = values
    return _columns(columns, canonical=True)


def _mapping(data: Cells) -> Table:
    """All values lists: columns. Otherwise the mapping is one row."""
    if data and all(_is_list(value) for value in data.values()):
        return _columns(data)
    return _iterable([data])


def _columns(data: Cells, canonical: bool = False) -> Table:
    columns = {str(name): list(values) if _is_list(values) else values for name, values in data.items()}
    for name, values in columns.items():
        if not isinstance(values, list):
            kind = type(values).__name__
            raise InputError(f"{name} is a {kind}, not a list", todo="give one value per output")
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name}: {length}" for name, length in lengths.items())
        raise InputError(f"the lists differ in length ({listed})", todo="give one value per output")
    rows = (dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True))
    return Table("data", _records(rows), tuple(columns), canonical=canonical)


def _iterable(data: Iterable[object]) -> Table:
    rows = iter(data)
    first = next(rows, None)
    together = rows if first is None else chain([first], rows)
    if isinstance(first, Example):
        return Table("data", _example_records(together), FIELDS, canonical=True)
    if isinstance(first, str):
        return Table("data", _output_records(together), ("output",), canonical=True)
    return Table("data", _records(together))


def _pandas(data: Foreign) -> Table:
    if not hasattr(data, "columns"):  # a Series is a list of outputs
        return rows_from_python(data.tolist())
    names = _distinct([str(name) for name in data.columns])
    columns = [data.iloc[:, index] for index in range(len(names))]
    rows = (dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True))
    return Table("data frame", _records(rows), names)


def _polars(data: Foreign) -> Table:
    if hasattr(data, "collect"):
        raise InputError("a polars LazyFrame has no rows yet", todo="call .collect() on it")
    if not hasattr(data, "iter_rows"):
        return rows_from_python(data.to_list())
    return Table("data frame", _records(data.iter_rows(named=True)), tuple(data.columns))


def _hugging_face(data: Foreign) -> Table:
    if isinstance(data, Mapping):
        raise InputError(f"a DatasetDict holds splits ({', '.join(data)})", todo="pass one: dataset['test']")
    return Table("data set", _records(data), tuple(data.column_names) if data.column_names else None)


def _arrow(data: Foreign) -> Table:
    from arro3.core import RecordBatchReader

    from quintet.io.parquet import arrow_rows

    reader = RecordBatchReader.from_stream(data)
    return Table("table", arrow_rows(reader, ""), _distinct(list(reader.schema.names)))


def _records(rows: Iterable[object]) -> Iterator[RowItem]:
    for number, given in enumerate(rows, start=1):
        row = plain(given)  # a test case, a sample: an object with fields
        if not isinstance(row, Mapping):
            kind = type(given).__name__
            raise InputError(f"is a {kind}, not a dict", f"row {number}", "give every row as a dict")
        yield Record(Position(number), {str(name): value for name, value in row.items()})


def _example_records(rows: Iterable[object]) -> Iterator[RowItem]:
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, Example):
            raise InputError(f"is a {type(row).__name__}, not an Example", f"row {number}", "do not mix kinds of rows")
        yield Record(Position(number), {field: getattr(row, field) for field in FIELDS})


def _output_records(rows: Iterable[object]) -> Iterator[RowItem]:
    for number, row in enumerate(rows, start=1):
        if isinstance(row, (Mapping, Example)):
            raise InputError(f"is a {type(row).__name__}, not a text", f"row {number}", "do not mix kinds of rows")
        yield Record(Position(number), {"output": row})


def _is_list(value: object) -> bool:
    if isinstance(value, (str, bytes, Mapping)):
        return False
    return isinstance(value, Sequence) or hasattr(value, "tolist") or hasattr(value, "to_list")


def _distinct(names: list[str]) -> tuple[str, ...]:
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InputError(f"two columns are named {twice[0]!r}", todo="rename one of them")
    return tuple(names)
