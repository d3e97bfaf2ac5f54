"""Rows to Parquet. The type of a column is settled by all of its values, so no late row can break the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, BinaryIO

from quintet.core.plain import Cells, Foreign
from quintet.io.cells import cell_text, without_surrogates, writable_names

BATCH_ROWS = 1024
BATCH_CHARACTERS = 16_000_000
_INT64 = range(-(2**63), 2**63)
_EXACT = 2**53


class ColumnTypes:
    """Watches values go by and says which Arrow type holds them all: mixed ones are text."""

    def __init__(self) -> None:
        self.kinds: dict[str, set[str]] = {}

    def watch(self, row: Cells) -> None:
        for name, value in row.items():
            kinds = self.kinds.setdefault(name, set())
            if value is not None:
                kinds.add(_kind(value))

    def type_of(self, name: str) -> str:
        kinds = self.kinds.get(name, set())
        if len(kinds) == 1:
            return next(iter(kinds))
        if kinds and kinds <= {"int", "long", "float"} and not ("long" in kinds and "float" in kinds):
            return "float" if "float" in kinds else "long"
        return "text"


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        # Up to 2**53 a float holds whole numbers exactly, so such a column may still turn to floats.
        return "int" if abs(value) <= _EXACT else "long" if value in _INT64 else "text"
    if isinstance(value, float):
        return "float"
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return "texts"
    return "text"


def write_parquet_rows(rows: Iterable[Cells], columns: Sequence[str], types: ColumnTypes, stream: BinaryIO) -> int:
    """Writes all rows; gives back how many texts held a lone surrogate that had to be replaced."""
    from arro3.core import DataType, Field, RecordBatchReader, Schema
    from arro3.io import write_parquet

    kinds = [types.type_of(name) for name in columns]
    arrow = {
        "bool": DataType.bool(),
        "int": DataType.int64(),
        "long": DataType.int64(),
        "float": DataType.float64(),
        "text": DataType.string(),
        "texts": DataType.list(Field("item", DataType.string(), nullable=True)),
    }
    names = writable_names(columns)
    schema = Schema([Field(name, arrow[kind], nullable=True) for name, kind in zip(names, kinds, strict=True)])
    maker = _BatchMaker(schema, columns, kinds, arrow)
    batches = (maker.batch(part) for part in _parts(rows))
    reader = RecordBatchReader.from_batches(schema, batches)
    write_parquet(reader, stream, compression="zstd(3)", created_by="quintet")
    return maker.replaced


class _BatchMaker:
    def __init__(self, schema: Foreign, columns: Sequence[str], kinds: Sequence[str], arrow: Cells) -> None:
        self._schema, self._columns, self._kinds, self._arrow = schema, columns, kinds, arrow
        self.replaced = 0

    def batch(self, rows: Sequence[Cells]) -> Foreign:
        from arro3.core import RecordBatch

        arrays = [self._array([row.get(c) for row in rows], k) for c, k in zip(self._columns, self._kinds, strict=True)]
        return RecordBatch.from_arrays(arrays, schema=self._schema)

    def _array(self, values: list[Any], kind: str) -> Foreign:
        from arro3.core import Array, DataType, list_array

        if kind == "texts":
            flat = [self._clean(item) for value in values for item in value or ()]
            ends = [0]
            for value in values:
                ends.append(ends[-1] + len(value or ()))
            offsets = Array(ends, type=DataType.int32())
            lists = list_array(offsets, Array(flat, type=DataType.string()), type=self._arrow["texts"])
            # list_array cannot mark nulls; taking from nowhere does.
            return lists.take(Array([None if v is None else i for i, v in enumerate(values)], type=DataType.uint32()))
        if kind == "text":
            values = [None if value is None else self._clean(cell_text(value)) for value in values]
        elif kind == "float":
            values = [None if value is None else float(value) for value in values]
        return Array(values, type=self._arrow[kind])

    def _clean(self, text: str) -> str:
        clean, replaced = without_surrogates(text)
        self.replaced += replaced
        return clean


def _parts(rows: Iterable[Cells]) -> Iterator[list[Cells]]:
    part: list[Cells] = []
    characters = 0
    for row in rows:
        part.append(row)
        characters += sum(len(value) for value in row.values() if isinstance(value, str))
        if len(part) >= BATCH_ROWS or characters > BATCH_CHARACTERS:
            yield part
            part, characters = [], 0
    if part:
        yield part
