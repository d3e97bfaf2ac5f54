"""A Signature: one line that lets a stranger get the same number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def signature(name: str, parameters: Mapping[str, Any], version: int, models: Mapping[str, str], release: str) -> str:
    """`name|parameter:value|…|model:DIGEST|v:1|quintet:0.1.0`; parameters in the order they are declared."""
    parts = [name]
    parts += [f"{key}:{_plain(value)}" for key, value in parameters.items() if key not in models]
    parts += [f"{key}:{identity}" for key, identity in models.items()]
    parts += [f"v:{version}", f"quintet:{release}"]
    return "|".join(parts)


def _plain(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, (tuple, list)):
        return "+".join(_plain(item) for item in value)
    # A bar or colon inside a value would read as structure.
    return str(value).replace("%", "%25").replace("|", "%7C").replace("\n", "%0A")
