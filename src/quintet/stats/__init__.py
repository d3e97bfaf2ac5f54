"""Judges the judges: sees tables and ratings, never a model."""

from __future__ import annotations

from importlib import import_module

_HOMES = {
    "judge": "study",
    "Study": "study",
    "Ratings": "inputs",
    "Scores": "inputs",
    "read_scores": "inputs",
    "Record": "records",
    "records_table": "tables",
    "differences_table": "tables",
    "System": "compare",
    "Difference": "compare",
    "Layout": "correlate",
    "krippendorff_alpha": "agreement",
    "pairwise_agreement": "agreement",
    "human_ceiling": "agreement",
}
"""Public names, loaded when first asked for; functions that share their module's name are imported from it."""


__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'quintet.stats' has no attribute {name!r}")
    return getattr(import_module(f"quintet.stats.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
