"""Which column is which field of an Example: recognised by name, settled by `output=summary,source=article`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from quintet.core.example import Example
from quintet.errors import InputError, MissingField, UnknownName
from quintet.io.aliases import LONE_CONTEXT, LONE_TEXT, NUMBERED_REFERENCE, PREFERRED, claims, plain_name
from quintet.io.values import texts, turns, value_at, whole_text

TEXT_FIELDS = ("output", "source", "context", "references", "history")
FIELDS = (*TEXT_FIELDS, "id", "system", "group")
REFERENCE_SEPARATOR = "|||"
"""Between references on one line of CTC's line-aligned files, and only there."""

Explicit = Mapping[str, str | Sequence[str]]


@dataclass(frozen=True, slots=True)
class ColumnMap:
    """The column of each field; `None` (or no references) where the file has none."""

    output: str | None = None
    source: str | None = None
    context: str | None = None
    references: tuple[str, ...] = ()
    """Several columns may hold one reference each."""
    history: str | None = None
    id: str | None = None
    system: str | None = None
    group: str | None = None
    names: frozenset[str] = frozenset()
    """The columns this map was made from; a row with others gets a map of its own."""
    explicit: tuple[tuple[str, tuple[str, ...]], ...] = ()
    empty_is_missing: bool = False
    """CSV, TSV and plain lines cannot say null: there an empty cell is missing, except in the output."""
    reference_separator: str | None = None

    def as_dict(self) -> dict[str, str | tuple[str, ...]]:
        """The fields that were found, for messages."""
        return {field: column for field in FIELDS if (column := getattr(self, field))}


def parse_columns(text: str | Explicit | None) -> dict[str, tuple[str, ...]]:
    """`output=summary,source=article` as a mapping; a field named twice (references) keeps all its columns."""
    pairs: list[tuple[str, str]] = []
    if isinstance(text, str):
        for part in filter(None, (piece.strip() for piece in text.split(","))):
            field, equals, column = part.partition("=")
            if not equals or not column.strip():
                raise InputError(f"cannot read the column mapping {part!r}", todo="write FIELD=COLUMN,FIELD=COLUMN")
            pairs.append((field.strip(), column.strip()))
    else:
        for field, columns in (text or {}).items():
            pairs += [(field, column) for column in ([columns] if isinstance(columns, str) else columns)]
    found: dict[str, tuple[str, ...]] = {}
    for field, column in pairs:
        field = {"reference": "references"}.get(field, field)
        if field not in FIELDS:
            raise UnknownName("field", field, FIELDS)
        if field in found and field != "references":
            raise InputError(f"two columns for {field}: {found[field][0]!r} and {column!r}", todo="name one")
        found[field] = (*found.get(field, ()), column)
    return found


def detect_columns(
    names: Iterable[str],
    task: str | None = None,
    explicit: Explicit | str | None = None,
    *,
    where: str = "",
    empty_is_missing: bool = False,
    reference_separator: str | None = None,
) -> ColumnMap:
    """The column of each field. Raises if a named column is not there, if two columns claim one field, or if there
    is no output."""
    names = list(dict.fromkeys(names))
    settled = parse_columns(explicit)
    for columns in settled.values():
        for column in columns:
            if column not in names and column.partition(".")[0] not in names:
                raise UnknownName("column", column, names)
    taken = {column for columns in settled.values() for column in columns}
    free = [name for name in names if name not in taken]
    found: dict[str, tuple[str, ...]] = _recognised_texts(free, task, set(settled), where)
    found |= _recognised_labels(free)
    found |= settled
    if "output" not in found:
        if not names:
            raise InputError("has no rows, or rows without columns", where, "give at least one row with an output")
        listed = ", ".join(names[:20])
        raise InputError(f"no column looks like the output (columns: {listed})", where, "pass --columns output=COLUMN")
    single = {field: found[field][0] for field in FIELDS if field in found and field != "references"}
    return ColumnMap(
        **single,
        references=found.get("references", ()),
        names=frozenset(names),
        explicit=tuple(settled.items()),
        empty_is_missing=empty_is_missing,
        reference_separator=reference_separator,
    )


def identity_columns() -> ColumnMap:
    """For rows made from Examples: every field is its own column, under every task."""
    plain = {field: field for field in FIELDS if field != "references"}
    return ColumnMap(**plain, references=("references",), names=frozenset(FIELDS))  # type: ignore[arg-type]


def to_example(row: Mapping[str, Any], columns: ColumnMap, position: Any, task: str | None = None) -> Example:
    """A row as an Example. `position` is where it stands (a Position, or a row number)."""
    number = getattr(position, "row", position)
    where = str(position) if hasattr(position, "row") else f"row {position}"
    if not columns.names.issuperset(row):
        columns = _widened(columns, tuple(sorted(columns.names.union(map(str, row)))), task)
    cell = _Cells(row, columns, where)
    identity = whole_text(cell.value(columns.id), "id", where) or str(number)
    output = whole_text(cell.value(columns.output, keep_empty=True), "output", where)
    if output is None:
        raise MissingField("output", identity, "every dimension")
    history = cell.value(columns.history)
    return Example(
        output=output,
        source=whole_text(cell.value(columns.source), "source", where),
        context=whole_text(cell.value(columns.context), "context", where),
        references=cell.references(),
        history=None if history is None else turns(history, where),
        id=identity,
        system=whole_text(cell.value(columns.system), "system", where),
        group=whole_text(cell.value(columns.group), "group", where),
    )


@dataclass(frozen=True, slots=True)
class _Cells:
    row: Mapping[str, Any]
    columns: ColumnMap
    where: str

    def value(self, column: str | None, keep_empty: bool = False) -> Any:
        if column is None:
            return None
        value = value_at(self.row, column)
        missing = self.columns.empty_is_missing and value == "" and not keep_empty
        return None if missing else value

    def references(self) -> tuple[str, ...]:
        found: list[str] = []
        for column in self.columns.references:
            value = self.value(column)
            if isinstance(value, str) and self.columns.reference_separator:
                value = [part.strip() for part in value.split(self.columns.reference_separator)]
            found += texts(value, "references", self.where, self.columns.empty_is_missing)
        return tuple(found)


@lru_cache(maxsize=256)
def _widened(columns: ColumnMap, names: tuple[str, ...], task: str | None) -> ColumnMap:
    """Rows of JSON may bring columns that the first rows lacked."""
    return detect_columns(
        names,
        task,
        dict(columns.explicit),
        empty_is_missing=columns.empty_is_missing,
        reference_separator=columns.reference_separator,
    )


def _recognised_texts(names: list[str], task: str | None, settled: set[str], where: str) -> dict[str, tuple[str, ...]]:
    numbered = sorted(
        (int(match.group(1)), name) for name in names if (match := NUMBERED_REFERENCE.match(plain_name(name)))
    )
    found: dict[str, tuple[str, ...]] = {}
    if numbered and "references" not in settled:
        found["references"] = tuple(name for _, name in numbered)
    wishes = {name: claims(name, task) for name in names}
    for turn in range(2):  # a column that loses its first wish may get its second
        bids: dict[str, list[tuple[int, str]]] = {}
        given = {column for columns in found.values() for column in columns}
        for name, wish in wishes.items():
            if name not in given and turn < len(wish) and wish[turn].field not in settled:
                bids.setdefault(wish[turn].field, []).append((wish[turn].strength, name))
        for field, offers in bids.items():
            if turn == 1 and field in found:
                continue
            strongest = max(strength for strength, _ in offers)
            winners = [name for strength, name in offers if strength == strongest]
            if len(winners) > 1 or (field in found and field == "references"):
                rivals = [*found.get(field, ()), *winners][:2]
                raise _ambiguous(field, rivals, where)
            found[field] = (winners[0],)
    if task == "dialogue" and not {"history", "source"} & (set(found) | settled):
        context = found.get("context")
        if context is not None and plain_name(context[0]) in LONE_CONTEXT:
            found["history"] = found.pop("context")
    if task is None and "output" not in found and "output" not in settled:
        source = found.get("source")
        if source is not None and plain_name(source[0]) in LONE_TEXT:
            found["output"] = found.pop("source")
    return found


def _recognised_labels(names: list[str]) -> dict[str, tuple[str, ...]]:
    plain: dict[str, str] = {}
    for name in names:
        plain.setdefault(plain_name(name), name)
    found: dict[str, tuple[str, ...]] = {}
    for field, preferred in PREFERRED.items():
        first = next((plain[name] for name in preferred if name in plain), None)
        if first is not None:
            found[field] = (first,)
    return found


def _ambiguous(field: str, rivals: list[str], where: str) -> InputError:
    what = f"columns {rivals[0]!r} and {rivals[1]!r} could both be the {field}"
    return InputError(what, where, f"say which with --columns {field}={rivals[0]}")
