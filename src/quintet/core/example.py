"""An Example: one generated text and what may be looked at beside it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

VISIBLE = re.compile(r"[^\s\x00]")
FIELDS = ("output", "source", "context", "references", "history", "question", "contexts")


@dataclass(frozen=True, slots=True)
class Example:
    """`None` (for references and history: empty) means absent; an empty string means present and empty.

    >>> quintet.Example("It opens in June.", source="It opens in May.").has("references")
    False
    """

    output: str
    source: str | None = None
    """What the output was made from: a document, passages, a meaning representation, the text to rewrite."""
    context: str | None = None
    """Knowledge that the output may use: the fact of a dialogue turn."""
    references: tuple[str, ...] = ()
    """Texts people wrote for the same input."""
    history: tuple[str, ...] | None = None
    """The turns of a dialogue before the output, oldest first."""
    id: str = ""
    system: str | None = None
    group: str | None = None
    """What outputs of the same input share (a document id); correlations `by document` group by it."""
    question: str | None = None
    """What was asked, where the output is to answer it."""
    contexts: tuple[str, ...] | None = None
    """The passages that were retrieved for the question, best first; together they are the source."""

    def has(self, field: str) -> bool:
        value = getattr(self, field)
        return bool(value) if field == "references" else value is not None

    def blank(self, field: str) -> bool:
        """Whether a field is there but has no character one can see."""
        return self.has(field) and VISIBLE.search(self.text(field)) is None

    def text(self, field: str) -> str:
        """A field as one string; turns and references are joined by newlines."""
        value = getattr(self, field)
        if value is None:
            return ""
        return value if isinstance(value, str) else "\n".join(value)

    def digest(self, fields: Iterable[str] = FIELDS) -> bytes:
        """Content hash over `fields`; id, system and group never change a score."""
        content = [getattr(self, field) for field in sorted(set(fields) | {"output"})]
        # surrogatepass: lone surrogates are legal in JSON files and must still have a key.
        return hashlib.sha256(json.dumps(content, ensure_ascii=False).encode("utf-8", "surrogatepass")).digest()
