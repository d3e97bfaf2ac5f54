"""Whole dialogues: every reply is scored with the turns before it, and the scores are averaged."""

from __future__ import annotations

import math
from collections.abc import Sequence

from quintet.core.example import Example


def replies(turns: Sequence[str], *, first_reply: int = 1, group: str | None = None) -> list[Example]:
    """The second, fourth, … turn with what precedes it: len(turns) // 2 examples, as the released code pairs them.

    `first_reply` is the position of the first turn that the judged speaker says; 0, where the model opens the
    dialogue, has nothing before it and is passed over.
    """
    places = [at for at in range(first_reply, len(turns), 2) if at > 0]
    return [Example(turns[at], history=tuple(turns[:at]), id=f"{group or ''}/{at}", group=group) for at in places]


def dialogue_score(scores: Sequence[float]) -> float:
    """The mean over the replies of one dialogue; those without a score are left out, NaN if none has one."""
    known = [score for score in scores if not math.isnan(score)]
    return math.fsum(known) / len(known) if known else math.nan
