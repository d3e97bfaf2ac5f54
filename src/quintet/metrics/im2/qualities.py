"""Which category measures which quality (IM2 section 4.5 and Table 11)."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from quintet.errors import InputError

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
