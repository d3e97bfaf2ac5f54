"""Keys and tokens never appear: every message, log line and report passes here before it is shown."""

from __future__ import annotations

import os
import re

VARIABLES = ("QUINTET_OPENAI_KEY", "OPENAI_API_KEY", "QUINTET_TOKEN", "HF_TOKEN")
MASK = "***"
_SHORTEST = 6
"""A shorter one would be masked inside common words."""
_FORMS = re.compile(r"(?i)(\bbearer\s+)[^\s'\",;]+|(://)[^/@\s]*:[^/@\s]*(?=@)")
"""A header with a token, and a name with a password in an address, whoever wrote them."""
_known: set[str] = set()


def keep_secret(value: str) -> None:
    """Says that `value` must not be shown: a token from a file, for instance."""
    _known.add(value)


def masked(text: str) -> str:
    given = {value for name in VARIABLES if (value := os.environ.get(name))} | _known
    # Longest first: one may hold another.
    for form in sorted({form for value in given for form in _written(value)}, key=len, reverse=True):
        if len(form) >= _SHORTEST:
            text = text.replace(form, MASK)
    return _FORMS.sub(lambda found: (found[1] or found[2]) + MASK, text)


def _written(value: str) -> tuple[str, ...]:
    """As it stands, without the line end of the file it came from, and as Python shows it."""
    return value, value.strip(), repr(value)[1:-1]
