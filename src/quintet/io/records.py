"""A Table: rows one after the other, each with the place it came from. Read once, in bounded memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from quintet.core.plain import Cells, JsonObject
from quintet.errors import InputError, QuintetError
from quintet.io.columns import ColumnMap, detect_columns, identity_columns
from quintet.io.dialects import paths_of

PEEKED_ROWS = 256
"""JSON rows may differ in their keys: the names of this many rows are known before the first is handed out."""
PEEKED_CHARACTERS = 8_000_000
OPENED_ROWS = 8
"""Rows whose cells are looked into, to know what tool wrote them."""
SKIP_TODO = "correct it, or pass --skip-bad to go on without it"


@dataclass(frozen=True, slots=True)
class Position:
    """Where a row stands. `row` counts from 1 and counts bad rows too, so that output row k is input row k."""

    row: int
    file: str = ""
    line: int | None = None

    def __str__(self) -> str:
        place = f"row {self.row}" if self.line is None else f"line {self.line}"
        return f"{self.file}, {place}" if self.file else place


@dataclass(frozen=True, slots=True)
class Record:
    position: Position
    values: JsonObject


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that could not be read; it keeps its place in the order, and what it holds."""

    position: Position
    reason: str
    raw: str = ""
    """As it stands in the file; bytes that are no UTF-8 are lone surrogates."""
    values: JsonObject = field(default_factory=dict)
    """Instead of `raw`: cells that could be told apart."""

    def error(self) -> InputError:
        return InputError(self.reason, str(self.position), SKIP_TODO)


RowItem = Record | BadRow


class Table:
    """Iterate it once for its records. `columns` names what the first rows hold (all rows, if `fixed`)."""

    def __init__(
        self,
        name: str,
        items: Iterable[RowItem],
        columns: Sequence[str] | None = None,
        *,
        empty_is_missing: bool = False,
        reference_separator: str | None = None,
        canonical: bool = False,
        close: Callable[[], None] | None = None,
    ) -> None:
        self.name = name
        self.fixed = columns is not None
        self.empty_is_missing = empty_is_missing
        self.reference_separator = reference_separator
        self.canonical = canonical
        self._close = close
        self._items: Iterator[RowItem] | None = iter(items)
        self.paths: frozenset[str] = frozenset()
        if columns is None:
            seen, self.paths, self._items = _peek(self._items)
            columns = tuple(seen)
        elif not (empty_is_missing or canonical):  # CSV and lines hold texts alone
            _, self.paths, self._items = _peek(self._items, OPENED_ROWS)
        self.columns: tuple[str, ...] = tuple(columns)

    def __iter__(self) -> Iterator[RowItem]:
        if self._items is None:
            raise QuintetError(f"{self.name} was read already; open it again")
        items, self._items = self._items, None
        try:
            yield from items
        finally:
            self.close()

    def column_map(self, task: str | None = None, explicit: Cells | str | None = None) -> ColumnMap:
        """Which column is which field, under `task`; `explicit` settles what names alone do not."""
        if self.canonical and not explicit:
            return identity_columns()
        return detect_columns(
            self.columns,
            task,
            explicit,
            where=self.name,
            empty_is_missing=self.empty_is_missing,
            reference_separator=self.reference_separator,
            paths=self.paths,
        )

    def close(self) -> None:
        if self._close is not None:
            self._close()
            self._close = None

    def __enter__(self) -> Table:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _peek(
    items: Iterator[RowItem], most: int = PEEKED_ROWS
) -> tuple[dict[str, None], frozenset[str], Iterator[RowItem]]:
    names: dict[str, None] = {}
    paths: set[str] = set()
    held: deque[RowItem] = deque()
    characters = 0
    for item in items:
        held.append(item)
        if isinstance(item, Record):
            names.update(dict.fromkeys(item.values))
            characters += sum(len(value) for value in item.values.values() if isinstance(value, str))
            if len(held) <= OPENED_ROWS:
                paths |= paths_of(item.values)
        if len(held) >= most or characters > PEEKED_CHARACTERS:
            break
    return names, frozenset(paths), chain(_drain(held), items)


def _drain(held: deque[RowItem]) -> Iterator[RowItem]:
    while held:
        yield held.popleft()
