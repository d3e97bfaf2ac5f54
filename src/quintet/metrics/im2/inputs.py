"""What IM2's classifiers are shown, and how long texts give way."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Literal

from quintet.core.example import Example
from quintet.errors import InputError
from quintet.metrics.role_metric import last_turns
from quintet.models.roles import Limits, Pair, PairModel, PairScore

# Which category measures which quality (IM2 section 4.5 and Table 11).

CATEGORIES: Mapping[str, frozenset[str]] = {
    "nuf": frozenset({"grammar", "natural", "understandable", "correct", "fluent"}),
    "cr": frozenset({"relevance", "maintains context", "relevant", "semantically appropriate", "coherent"}),
    "ies": frozenset({"content", "engaging", "interesting", "specific", "informativeness"}),
}
"""Table 11, and of Table 12 the coherence that section 4.1 counts to CR."""
_ALIASES: Mapping[str, str] = {
    "grammaticality": "grammar",
    "naturalness": "natural",
    "understandability": "understandable",
    "correctness": "correct",
    "fluency": "fluent",
    "coherence": "coherent",
    "engagingness": "engaging",
    "interestingness": "interesting",
    "specificity": "specific",
    "informative": "informativeness",
}
"""What sets call the same qualities here (`quintet.data.dimension_names`)."""
OVERALL, AUTO = "im2", "auto"
OTHERS = frozenset({"overall", "appropriateness", "uses knowledge", "language usage"})
"""Of the paper's qualities those that no category measures."""


def route(quality: str) -> str:
    """SELECTIVE: the category a quality belongs to; `im2` for overall and for qualities never seen (section 4.5)."""
    wanted = _plain(quality)
    return next((category for category, members in CATEGORIES.items() if wanted in members), OVERALL)


def check(quality: str) -> None:
    if _plain(quality) == AUTO:
        raise InputError(
            "quality=auto asks for what a set rates", "im2", "use it with quintet bench, or name a quality"
        )


def note(quality: str) -> tuple[str, ...]:
    """What to say of a quality that the paper does not have: a misspelt name gets the overall score, too."""
    known = OTHERS.union(*CATEGORIES.values())
    wanted = _plain(quality)
    if wanted in known:
        return ()
    near = difflib.get_close_matches(wanted, known, 1)
    return (f"no category measures {wanted!r}: overall{f'; did you mean {near[0]}?' if near else ''}",)


def _plain(quality: str) -> str:
    plain = " ".join(quality.replace("_", " ").lower().split())
    return _ALIASES.get(plain, plain)


VALID_MODEL = "bundled:evaluator#acc"
ORDER_MODEL = "bundled:evaluator#abba"
RESPONSE_MODEL = "bundled:evaluator#abac"
COHERENCE_MODEL = "bundled:evaluator#sel"
FIVE_NUF_MODEL = "bundled:dialogue-nuf"
FIVE_IES_MODEL = "bundled:dialogue-ies"
LM_MODEL = "bundled:evaluator"

Mode = Literal["quintet", "released"]
"""quintet: the last turns as they stand, as long as the model takes. released: the whole history on one line, 25
tokens of it and 25 of the response."""

SIDE = 25
RELEASED_TOTAL = Limits(total=2 * SIDE, keep_first="end")
RELEASED_SIDES = Limits(total=2 * SIDE, first=SIDE, second=SIDE, keep_first="end")
"""The context keeps its end, the response its start."""
ONE_TEXT = Limits(total=SIDE + 2, first=SIDE)
_LATEST = Limits(keep_first="end")


def context(example: Example, mode: Mode, turns: int) -> str:
    """The released files hold all turns joined by a blank."""
    if mode == "released":
        return " ".join(last_turns(example, None))
    # A line is a turn: a break inside of one is no border.
    return "\n".join(" ".join(turn.splitlines()) for turn in last_turns(example, turns))


def judge(model: PairModel, pairs: Sequence[Pair], mode: Mode) -> list[PairScore]:
    """Logits for texts or pairs, cut as the mode says.

    In the released code the limit of 25 on either side bites only when both together are too long.
    """
    if not pairs:
        return []
    if mode == "quintet":
        return list(model.score(pairs, _LATEST))
    if pairs[0][1] is None:
        return list(model.score(pairs, ONE_TEXT))
    found: list[PairScore] = list(model.score(pairs, RELEASED_TOTAL))
    long = [i for i, one in enumerate(found) if any(one.cut)]
    if long:
        again = model.score([pairs[i] for i in long], RELEASED_SIDES)
        for i, logits in zip(long, again, strict=True):
            found[i] = logits
    return found


GRADE_LIMITS = Limits(total=128, keep_first="end")
"""GRADE reads 128 tokens; the latest turn is what the response answers."""
