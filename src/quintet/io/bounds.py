"""How much of a file is held at once: over a bound there is one line that names it and says how to raise it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from quintet._checked import whole_number
from quintet.errors import InputError

DEEPEST = 100
"""Brackets within brackets in a cell. Texts, lists and chat messages need five; Python itself gives up near 1,000."""


@dataclass(frozen=True, slots=True)
class Bound:
    variable: str
    usual: int
    what: str

    @property
    def limit(self) -> int:
        return whole_number(self.variable, self.usual)

    def refusal(self, where: str) -> InputError:
        return InputError(f"{self.what} {self.limit:,} bytes", where, f"raise it with {self.variable}=BYTES")


ROW = Bound("QUINTET_ROW_BYTES", 128 * 2**20, "one row or line is longer than")
UNPACKED = Bound("QUINTET_UNPACKED_BYTES", 2**40, "unpacks to more than")
RATIO = 400
"""Bytes out of one byte of gzip: texts give 3 to 30, repeated ones 200; nothing but zeros gives 1,000."""
RATIO_FROM = 64 * 2**20
"""Below so many bytes the ratio does no harm."""


_Nested = dict[Any, Any] | list[object] | tuple[object, ...]


def deeper_than(value: object, most: int = DEEPEST) -> bool:
    """Whether lists and objects stand in one another more than `most` deep; found without recursion."""
    level: list[dict[Any, Any] | list[object] | tuple[object, ...]] = (
        [value] if isinstance(value, dict | list | tuple) else []
    )
    for _ in range(most):
        inner: list[_Nested] = []
        for each in level:
            items = each.values() if isinstance(each, dict) else each
            inner += [item for item in items if isinstance(item, dict | list | tuple)]
        if not inner:
            return False
        level = inner
    return bool(level)
