"""Flags: what a reader must know of a score. A flag is a code, or `code: detail`; codes never change.

What is `unscored` has no value, whatever the metric made of it. What is `unsure` keeps its value, and a gate counts it,
leaves it out or fails by it, as it is told.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Effect = Literal["note", "unsure", "unscored"]


@dataclass(frozen=True, slots=True)
class Flag:
    code: str
    effect: Effect
    about: str
    """In plain words."""


FLAGS = {
    flag.code: flag
    for flag in (
        Flag("empty output", "note", "The output has no visible character: it has the worst score there is."),
        *(
            Flag(f"empty {name}", "unscored", f"The {name} that the question needs is there but says nothing.")
            for name in ("source", "context", "references", "history", "question", "contexts")
        ),
        Flag("abstained", "note", "The output declines to answer: neither right nor made up."),
        Flag("other language", "unsure", "A text is in a language that the bundled models were not made for."),
        Flag("short output", "unsure", "The output has one word or two: there is little to judge."),
        Flag("copy of the source", "unsure", "The output repeats its source nearly word for word."),
        Flag("far from the source", "unsure", "The output shares no content word with its source."),
        Flag("not all seen", "unsure", "A text was longer than the model reads: its end was not judged."),
    )
}
EMPTY_OUTPUT, ABSTAINED, NOT_ALL_SEEN = "empty output", "abstained", "not all seen"
EMPTY_FIELDS = frozenset(code for code, flag in FLAGS.items() if flag.effect == "unscored")


def flag(code: str, detail: str = "") -> str:
    return f"{code}: {detail}" if detail else code


def code_of(flag: str) -> str:
    """The code, whatever detail follows it."""
    return flag.partition(": ")[0]


def unsure(flags: Iterable[str]) -> tuple[str, ...]:
    """The codes among them that make a score unsure."""
    codes = (code_of(flag) for flag in flags)
    return tuple(dict.fromkeys(code for code in codes if code in FLAGS and FLAGS[code].effect == "unsure"))
