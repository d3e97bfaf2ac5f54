"""Python values to what a file can hold: strict JSON, and the flat cells of CSV."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from quintet._checked import distinct
from quintet.io.values import plain

REPLACEMENT = "\ufffd"
_SURROGATE = re.compile("[\ud800-\udfff]")


def json_ready(value: object, digits: int | None = None) -> Any:
    """Plain data for `json`: NaN and infinities become null, library values become Python's, odd ones text."""
    value = plain(value)
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if digits is None else round(value, digits)
    if isinstance(value, Mapping):
        return {str(key): json_ready(item, digits) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [json_ready(item, digits) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def json_text(value: object) -> str:
    """One line of strict JSON; characters stand for themselves, except lone surrogates, which UTF-8 cannot hold."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return _SURROGATE.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def cell_text(value: object) -> str:
    """A JSON-ready value as a CSV cell: null is empty, lists and objects are JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else ""
    return json_text(value)


def stored(cell: object) -> Any:
    """What a cell of a scored file holds: in CSV lists and objects are JSON. None where it is no such thing."""
    if not isinstance(cell, str):
        return cell
    try:
        return json.loads(cell, object_pairs_hook=distinct)
    except (ValueError, RecursionError):
        return None


def stored_notes(cell: object) -> list[str]:
    """The `notes` of a scored row."""
    told = stored(cell)
    return [str(note) for note in told] if isinstance(told, list) else []


def without_surrogates(text: str) -> tuple[str, bool]:
    """CSV and Parquet are UTF-8 through and through: a lone surrogate becomes U+FFFD. Says whether one did."""
    if _SURROGATE.search(text) is None:
        return text, False
    return _SURROGATE.sub(REPLACEMENT, text), True


def writable_names(names: Sequence[str]) -> list[str]:
    """Column names without lone surrogates and NUL, kept distinct."""
    taken: dict[str, None] = {}
    for name in names:
        clean = without_surrogates(name)[0].replace("\x00", REPLACEMENT)
        while clean in taken:
            clean += "_"
        taken[clean] = None
    return list(taken)
