"""Which category measures which quality (IM2 section 4.5 and Table 11)."""

from __future__ import annotations

from collections.abc import Mapping

from quintet.errors import UnknownName

CATEGORIES: Mapping[str, frozenset[str]] = {
    "nuf": frozenset({"grammar", "natural", "understandable", "correct", "fluent"}),
    "cr": frozenset({"relevance", "maintains context", "relevant", "semantically appropriate"}),
    "ies": frozenset({"content", "engaging", "interesting", "specific", "informativeness"}),
}
OVERALL = "im2"
OTHERS = frozenset({"overall", "appropriateness", "uses knowledge", "language usage"})
"""Of the paper's qualities those that no category measures."""


def route(quality: str) -> str:
    """SELECTIVE: the category a quality belongs to; `im2` for overall and for qualities never seen."""
    wanted = _plain(quality)
    return next((category for category, members in CATEGORIES.items() if wanted in members), OVERALL)


def check(quality: str) -> None:
    """A misspelt name would be answered by the overall score, and nobody would know."""
    known = OTHERS.union(*CATEGORIES.values())
    if _plain(quality) not in known:
        raise UnknownName("quality of im2", quality, known)


def _plain(quality: str) -> str:
    return " ".join(quality.replace("_", " ").lower().split())
