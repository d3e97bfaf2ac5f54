"""Which column is which field of an Example: recognised by name, settled by `output=summary,source=article`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from quintet.core.example import Example
from quintet.core.plain import Cells
from quintet.errors import InputError, MissingField, UnknownName
from quintet.io.dialects import (
    ASKED,
    LONE_CONTEXT,
    LONE_TEXT,
    NUMBERED_REFERENCE,
    PREFERRED,
    STRENGTHS,
    Dialect,
    fitting,
    pair_of,
    paths_of,
    plain_name,
    wishes,
)
from quintet.io.values import texts, turns, value_at, whole_text

TEXT_FIELDS = ("output", "source", "context", "references", "history", "question", "contexts")
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
    question: str | None = None
    contexts: str | None = None
    id: str | None = None
    system: str | None = None
    group: str | None = None
    names: frozenset[str] = frozenset()
    """The columns this map was made from; a row with others gets a map of its own."""
    explicit: tuple[tuple[str, tuple[str, ...]], ...] = ()
    empty_is_missing: bool = False
    """CSV, TSV and plain lines cannot say null: there an empty cell is missing, except in the output."""
    reference_separator: str | None = None
    dialect: str = ""
    """The tool whose files look like this one."""
    paths: frozenset[str] = frozenset()
    """What the first rows hold inside their cells; told dialects apart."""

    def line(self) -> str:
        """`output=answer, source=contexts (ragas)`: what every run says of its input."""
        read = [f"{field}={'+'.join([c] if isinstance(c, str) else c)}" for field, c in self.as_dict().items()]
        return ", ".join(read) + (f" ({self.dialect})" if self.dialect else "")

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
    paths: frozenset[str] = frozenset(),
) -> ColumnMap:
    """The column of each field. Raises if a named column is not there, if two columns claim one field, or if there
    is no output. `paths` are those inside the cells (dialects.paths_of)."""
    names = list(dict.fromkeys(names))
    settled = parse_columns(explicit)
    for columns in settled.values():
        for column in columns:
            if column not in names and _top(column) not in names:
                raise UnknownName("column", column, names)
    taken = {column for columns in settled.values() for column in columns}
    free = [name for name in names if name not in taken]
    dialect, found = _recognised_dialect(free, paths.union(names), task, set(settled), where)
    inside = {_top(column) for columns in found.values() for column in columns}
    rest = [name for name in free if name not in inside]
    found = _recognised_texts(rest, task, {*settled, *found}, where, bool(dialect)) | found
    found = _recognised_labels(rest) | found | settled
    found = _asked_or_given(found, task, set(settled))
    if "output" not in found:
        raise _no_output(names, where)
    single = {field: found[field][0] for field in FIELDS if field in found and field != "references"}
    return ColumnMap(
        **single,
        references=found.get("references", ()),
        names=frozenset(names),
        explicit=tuple(settled.items()),
        empty_is_missing=empty_is_missing,
        reference_separator=reference_separator,
        dialect=dialect,
        paths=paths,
    )


def _top(path: str) -> str:
    """The column that a path starts from."""
    return path.partition(".")[0].partition(":")[0]


def _no_output(names: list[str], where: str) -> InputError:
    if not names:
        return InputError("has no rows, or rows without columns", where, "give at least one row with an output")
    if pair := pair_of(names):
        what = f"columns {pair[0]!r} and {pair[1]!r} are two outputs of one input"
        return InputError(what, where, f"compare them with quintet prefer, or pass --columns output={pair[0]}")
    listed = ", ".join(names[:20])
    return InputError(f"no column looks like the output (columns: {listed})", where, "pass --columns output=COLUMN")


def _recognised_dialect(
    names: list[str], paths: frozenset[str], task: str | None, settled: set[str], where: str
) -> tuple[str, dict[str, tuple[str, ...]]]:
    """The fields of the tool whose files look like this. Two readings that differ are refused."""
    free = set(names)
    known = [path for path in paths if _top(path.replace("@", ":")) in free]
    fits = fitting(known)
    if not fits:
        return "", {}
    readings: list[dict[str, tuple[str, ...]]] = [
        {f: (path,) for f, path in fields.items() if f not in settled} for _, fields in fits
    ]
    if "output" not in settled and all("output" in reading for reading in readings):
        others = [name for name in names if _is_clear_output(name, task)]
        rivals = [name for name in others if all(_top(r["output"][0]) != name for r in readings)]
        if rivals:
            raise _two_readings(fits[0][0], readings[0]["output"][0], "output", rivals[0], where)
    for (other, _), reading in zip(fits[1:], readings[1:], strict=True):
        for field in ("output", "source", "contexts", "question"):
            here, there = readings[0].get(field), reading.get(field)
            if here and there and here != there:
                raise _two_readings(fits[0][0], here[0], field, there[0], where, other)
    if task == "dialogue":
        for field, of_tool in (("history", "question"), ("context", "contexts")):
            if of_tool in readings[0] and field not in {*readings[0], *settled}:
                readings[0][field] = readings[0][of_tool]
    return fits[0][0].name, readings[0]


def _is_clear_output(name: str, task: str | None) -> bool:
    return any(wish.field == "output" and wish.strength == STRENGTHS["clear"] for wish in wishes(name, task))


def _two_readings(
    dialect: Dialect, path: str, field: str, rival: str, where: str, other: Dialect | None = None
) -> InputError:
    second = f"{rival} ({other.name})" if other else rival
    what = f"the {field} could be {path} (as {dialect.name} has it) or {second}"
    return InputError(what, where, f"say which: --columns {field}={path} or --columns {field}={rival}")


def _asked_or_given(
    found: dict[str, tuple[str, ...]], task: str | None, settled: set[str]
) -> dict[str, tuple[str, ...]]:
    """What was asked is never the source where there is something to answer from; a dialogue takes both its own way."""
    contexts, context, source = found.get("contexts"), found.get("context"), found.get("source")
    if task == "dialogue":
        return found
    if contexts is None and context and plain_name(context[0]) in LONE_CONTEXT and "context" not in settled:
        contexts = context
    if contexts is None or "source" in settled:
        return found
    asked = source is not None and plain_name(source[0]) in ASKED
    if source is None or asked:
        if source is not None:
            found.setdefault("question", source)
        found |= {"source": contexts, "contexts": contexts}
    else:
        found.setdefault("context", contexts)
    return found


def identity_columns() -> ColumnMap:
    """For rows made from Examples: every field is its own column, under every task."""
    plain = {field: field for field in FIELDS if field != "references"}
    return ColumnMap(**plain, references=("references",), names=frozenset(FIELDS))  # type: ignore[arg-type]


def to_example(row: Cells, columns: ColumnMap, position: object, task: str | None = None) -> Example:
    """A row as an Example. `position` is where it stands (a Position, or a row number)."""
    number = getattr(position, "row", position)
    where = str(position) if hasattr(position, "row") else f"row {position}"
    if not columns.names.issuperset(row):
        columns = _widened(columns, tuple(sorted(columns.names.union(map(str, row)))), task, frozenset(paths_of(row)))
    cell = _Cells(row, columns, where)
    identity = whole_text(cell.value(columns.id), "id", where) or str(number)
    output = whole_text(cell.value(columns.output, keep_empty=True), "output", where)
    if output is None:
        raise MissingField("output", identity, "every dimension")
    history = cell.value(columns.history)
    contexts = cell.contexts()
    passages = None if contexts is None else "\n".join(contexts)
    same = columns.contexts is not None
    return Example(
        output=output,
        source=passages if same and columns.source == columns.contexts else cell.text(columns.source, "source"),
        context=passages if same and columns.context == columns.contexts else cell.text(columns.context, "context"),
        question=cell.text(columns.question, "question"),
        contexts=contexts,
        references=cell.references(),
        history=None if history is None else turns(history, where),
        id=identity,
        system=whole_text(cell.value(columns.system), "system", where),
        group=whole_text(cell.value(columns.group), "group", where),
    )


@dataclass(frozen=True, slots=True)
class _Cells:
    row: Cells
    columns: ColumnMap
    where: str

    def value(self, column: str | None, keep_empty: bool = False) -> Any:
        if column is None:
            return None
        value = value_at(self.row, column)
        missing = self.columns.empty_is_missing and value == "" and not keep_empty
        return None if missing else value

    def text(self, column: str | None, field: str) -> str | None:
        return whole_text(self.value(column), field, self.where)

    def contexts(self) -> tuple[str, ...] | None:
        value = self.value(self.columns.contexts)
        return None if value is None else tuple(texts(value, "contexts", self.where))

    def references(self) -> tuple[str, ...]:
        found: list[str] = []
        for column in self.columns.references:
            value = self.value(column)
            if isinstance(value, str) and self.columns.reference_separator:
                value = [part.strip() for part in value.split(self.columns.reference_separator)]
            found += texts(value, "references", self.where, self.columns.empty_is_missing)
        return tuple(found)


@lru_cache(maxsize=256)
def _widened(columns: ColumnMap, names: tuple[str, ...], task: str | None, paths: frozenset[str]) -> ColumnMap:
    """Rows of JSON may bring columns that the first rows lacked."""
    return detect_columns(
        names,
        task,
        dict(columns.explicit),
        empty_is_missing=columns.empty_is_missing,
        reference_separator=columns.reference_separator,
        paths=columns.paths | paths,
    )


def _recognised_texts(
    names: list[str], task: str | None, settled: set[str], where: str, known: bool = False
) -> dict[str, tuple[str, ...]]:
    """By name alone. In a file of a `known` tool a field that two other columns could be is left out."""
    numbered = sorted(
        (int(match.group(1)), name) for name in names if (match := NUMBERED_REFERENCE.match(plain_name(name)))
    )
    found: dict[str, tuple[str, ...]] = {}
    if numbered and "references" not in settled:
        found["references"] = tuple(name for _, name in numbered)
    wished = {name: wishes(name, task) for name in names}
    for turn in range(2):  # a column that loses its first wish may get its second
        bids: dict[str, list[tuple[int, str]]] = {}
        given = {column for columns in found.values() for column in columns}
        for name, wish in wished.items():
            if name not in given and turn < len(wish) and wish[turn].field not in settled:
                bids.setdefault(wish[turn].field, []).append((wish[turn].strength, name))
        for field, offers in bids.items():
            if turn == 1 and field in found:
                continue
            strongest = max(strength for strength, _ in offers)
            winners = [name for strength, name in offers if strength == strongest]
            if len(winners) > 1 or (field in found and field == "references"):
                if known:
                    continue
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
    return InputError(what, where, f"say which: --columns {field}={rivals[0]} or --columns {field}={rivals[1]}")
