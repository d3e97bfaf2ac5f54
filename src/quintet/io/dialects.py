"""What columns are called in other people's files, read from `dialects.toml`: names, paths and whole dialects."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from quintet.core.plain import Cells, JsonObject
from quintet.io.values import PARTS, RETRIEVED, is_messages, plain, retrieved, speaker

STRENGTHS = {"clear": 3, "weak": 2, "last": 1}
# Within these three a list of names is a list of preferences; a second name never makes them ambiguous.
PREFERRED = {
    "id": ("id", "example_id", "sample_id", "row_id", "uid", "item_id"),
    "system": ("system", "system_id", "system_name", "sys_name", "model", "model_id", "model_name"),
    "group": (
        "group", "doc_id", "docid", "document_id", "article_id", "source_id", "dialogue_id", "dialog_id", "context_id",
        "input_id", "segment_id", "sent_id",
    ),
}  # fmt: skip
# What a model was asked is no source where there is something it was to answer from.
ASKED = ("input", "inputs", "prompt")
# With nothing else that could be the turns, what people call the context of a response is the turns.
LONE_CONTEXT = ("context", "contexts")
# With no output and no task named, the text is what is judged: `--metric gruen` on a file of texts.
LONE_TEXT = ("text",)
NUMBERED_REFERENCE = re.compile(r"(?:ref|reference|gold)_?(\d+)\Z")
DEPTH, SHOWN_ITEMS = 5, 3

_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_GAPS = re.compile(r"[\s\-_.]+")


@dataclass(frozen=True, slots=True)
class Wish:
    """A column wants to be `field`. Stronger wishes win; equal ones are ambiguous."""

    field: str
    strength: int


@dataclass(frozen=True, slots=True)
class Dialect:
    name: str
    when: tuple[str, ...]
    fields: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class _Table:
    names: Mapping[str, tuple[Wish, ...]]
    tasks: Mapping[str, Mapping[str, tuple[Wish, ...]]]
    dialects: tuple[Dialect, ...]
    wrapped: tuple[tuple[str, ...], ...]
    pairs: tuple[tuple[str, str], ...]


def plain_name(column: str) -> str:
    """`System Output`, `systemOutput` and `system-output` are one name."""
    return _GAPS.sub("_", _WORD_START.sub("_", column.strip())).strip("_").lower()


def wishes(column: str, task: str | None) -> tuple[Wish, ...]:
    name = plain_name(column)
    own = table().tasks.get(task or "", {})
    return own[name] if name in own else table().names.get(name, ())


def fitting(paths: Iterable[str]) -> list[tuple[Dialect, dict[str, str]]]:
    """The dialects that fit rows with these paths best, each with the path of every field that is there."""
    known: dict[str, str] = {}
    for path in paths:
        known.setdefault(_plain_path(path), path)
    fit = [d for d in table().dialects if all(_plain_path(path) in known for path in d.when)]
    longest = max((len(d.when) for d in fit), default=0)
    found = []
    for dialect in fit:
        if len(dialect.when) == longest:
            resolved = {field: _first(paths, known) for field, paths in dialect.fields.items()}
            found.append((dialect, {field: path for field, path in resolved.items() if path is not None}))
    return [(dialect, fields) for dialect, fields in found if "output" in fields or "output" not in dialect.fields]


def paths_of(row: Cells) -> set[str]:
    """Every path a row has, to the depth that dialects ask for."""
    found: set[str] = set()
    for name, value in row.items():
        _walk(str(name), plain(value), DEPTH, found)
    return found


def unwrapped(document: Cells) -> list[JsonObject] | None:
    """The rows of a document that keeps them below a key (promptfoo results, an Inspect log), or None."""
    if any(wish.field == "output" and wish.strength == 3 for name in document for wish in wishes(str(name), None)):
        return None
    for keys in table().wrapped:
        value: Any = document
        for key in keys:
            value = value.get(key) if isinstance(value, Mapping) else None
        if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
            return value
    return None


def pair_of(names: Iterable[str]) -> tuple[str, str] | None:
    """Two columns that hold two outputs of one input, such as `chosen` and `rejected`."""
    by_name = {plain_name(name): name for name in names}
    return next(((by_name[a], by_name[b]) for a, b in table().pairs if a in by_name and b in by_name), None)


@cache
def table() -> _Table:
    raw = tomllib.loads(files("quintet.io").joinpath("dialects.toml").read_text(encoding="utf-8"))
    return _Table(
        names=_wishes(raw["names"]),
        tasks={task: _wishes(fields) for task, fields in raw["task"].items()},
        dialects=tuple(
            Dialect(d["name"], tuple(d["when"]), {f: _several(paths) for f, paths in d["fields"].items()})
            for d in raw["dialect"]
        ),
        wrapped=tuple(tuple(entry["rows"].split(".")) for entry in raw["wrapped"]),
        pairs=tuple((a, b) for a, b in raw["pairs"]["of"]),
    )


def _wishes(fields: Mapping[str, Mapping[str, str]]) -> dict[str, tuple[Wish, ...]]:
    found: dict[str, list[Wish]] = {}
    for field, strengths in fields.items():
        for strength, names in strengths.items():
            for name in names.split():
                found.setdefault(name, []).append(Wish(field, STRENGTHS[strength]))
    return {name: tuple(sorted(own, key=lambda wish: -wish.strength)) for name, own in found.items()}


def _several(paths: str | Sequence[str]) -> tuple[str, ...]:
    return (paths,) if isinstance(paths, str) else tuple(paths)


def _first(wanted: Sequence[str], known: Mapping[str, str]) -> str | None:
    """The first path that is there, as the file writes it."""
    for path in wanted:
        place, colon, part = path.partition(":")
        # A part is there if a marker says so; without one it would be empty in every row.
        marker = _plain_path(place + ("@" + part if colon else ""))
        if marker in known and _plain_path(place) in known:
            return known[_plain_path(place)] + colon + part
    return None


def _plain_path(path: str) -> str:
    first, dot, rest = path.partition(".")
    first, at, mark = first.partition("@")
    return plain_name(first) + at + mark + dot + rest


def _walk(path: str, value: object, depth: int, found: set[str]) -> None:
    found.add(path)
    if depth == 0 or value is None:
        return
    if isinstance(value, Mapping):
        for key, inner in value.items():
            _walk(f"{path}.{key}", plain(inner), depth - 1, found)
    elif is_messages(value):
        found.update(f"{path}@{part}" for part in _parts_there(value))
        for item in value[:SHOWN_ITEMS]:
            _walk(f"{path}.*", plain(item), depth - 1, found)
    elif isinstance(value, (list, tuple)):
        if retrieved(value):
            found.add(f"{path}@{RETRIEVED}")
        for index, item in enumerate(value[:SHOWN_ITEMS]):
            _walk(f"{path}.*", plain(item), depth - 1, found)
            _walk(f"{path}.{index}", plain(item), depth - 1, found)


def _parts_there(messages: Sequence[Any]) -> list[str]:
    speakers = {speaker(message) for message in messages}
    there = {
        "reply": speaker(messages[-1]) == "assistant",
        "turns": True,
        "asked": "user" in speakers,
        "tools": "tool" in speakers,
    }
    return [part for part in PARTS if there.get(part)]
