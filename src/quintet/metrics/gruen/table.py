"""GRUEN's rows in the table of metrics."""

from __future__ import annotations

from quintet.core.registry import Registry

_ROWS = {
    "gruen-grammaticality": (
        "grammaticality:Grammaticality",
        "Sentence likelihood and acceptability (GRUEN section 3)",
    ),
    "gruen-redundancy": ("redundancy:Redundancy", "Sentence pairs that say the same thing, by four tests (GRUEN)"),
    "gruen-focus": ("focus:Focus", "Neighbouring sentences by exact word mover's distance (GRUEN section 3)"),
    "gruen-structure": ("structure:Structure", "Sentence-order prediction over every split (GRUEN section 3)"),
    "gruen": ("overall:Gruen", "GRUEN: grammaticality, non-redundancy, focus and structure, added and clipped"),
}


def register(registry: Registry) -> None:
    for name, (target, summary) in _ROWS.items():
        registry.add(name, f"quintet.metrics.gruen.{target}", summary)
