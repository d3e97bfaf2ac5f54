"""What people write in files and variables, held against the types it must have. msgspec does the comparing."""

from __future__ import annotations

import os
import re
from typing import Any, TypeVar

from quintet.errors import InputError

_Kind = TypeVar("_Kind")
_WORDS = {
    "str": "a text", "int": "a whole number", "float": "a number", "bool": "true or false", "array": "a list",
    "object": "a table", "null": "nothing",
}  # fmt: skip
_TYPES = re.compile(r"`([^`]*)`")
_PLACE = re.compile(r" - at `\$?\.?([^`]*)`$")


def checked(plain: object, kind: type[_Kind], where: str, todo: str = "") -> _Kind:
    """`plain` as a `kind`: a dataclass, a TypedDict or any type msgspec knows; InputError names the first misfit."""
    # Imported here: it costs as much as the rest of the program's start, and only files from outside need it.
    import msgspec

    try:
        return msgspec.convert(plain, kind)
    except msgspec.ValidationError as problem:
        raise InputError(in_words(str(problem)), where, todo) from None


def in_words(problem: str) -> str:
    """`Expected `str`, got `int` - at `$.a.b`` as `a.b is a whole number instead of a text`."""
    place = _PLACE.search(problem)
    said = _PLACE.sub("", problem)
    types = [" or ".join(_WORDS.get(name.strip(), name.strip()) for name in found.split("|"))
             for found in _TYPES.findall(said)]  # fmt: skip
    at = place[1].replace("[...]", ".*").strip(".") if place else ""
    if said.startswith("Expected") and len(types) == 2:
        return f"{at or 'it'} is {types[1]} instead of {types[0]}"
    if "missing required field" in said:
        return f"{at}.{types[0]} is missing" if at else f"{types[0]} is missing"
    said = said[:1].lower() + said[1:]
    return f"{at}: {said}" if at else said


class KeyTwice(ValueError):
    """Not JSON's fault, so it is told in other words than what is no JSON."""


def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """For `json.loads(object_pairs_hook=…)`: of two values under one key nobody can say which is meant."""
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise KeyTwice(f"the key {twice[:60]!r} stands twice")
    return found


def whole_number(variable: str, usual: int, least: int = 1) -> int:
    """A number from the environment; `usual` where the variable is unset or empty."""
    given = os.environ.get(variable, "")
    if not given:
        return usual
    if not (given.isascii() and given.isdigit() and len(given) < 19 and int(given) >= least):
        todo = f"set it to a whole number from {least} up, or unset it"
        raise InputError(f"{variable} is {given[:40]!r}", todo=todo)
    return int(given)
