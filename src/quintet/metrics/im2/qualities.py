"""Which category measures which quality (IM2 section 4.5 and Table 11)."""

from __future__ import annotations

from collections.abc import Mapping

CATEGORIES: Mapping[str, frozenset[str]] = {
    "nuf": frozenset({"grammar", "natural", "understandable", "correct", "fluent"}),
    "cr": frozenset({"relevance", "maintains context", "relevant", "semantically appropriate"}),
    "ies": frozenset({"content", "engaging", "interesting", "specific", "informativeness"}),
}
OVERALL = "im2"


def route(quality: str) -> str:
    """SELECTIVE: the category a quality belongs to; `im2` for overall and for qualities never seen."""
    wanted = " ".join(quality.replace("_", " ").lower().split())
    return next((category for category, members in CATEGORIES.items() if wanted in members), OVERALL)
