"""When a score says less than it seems: another language, two words, a copy, a source about something else."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from rapidfuzz import fuzz

from quintet.core.example import Example
from quintet.core.flags import flag
from quintet.core.metric import Composite, Metric
from quintet.text.content_words import content_words
from quintet.text.language import other_language
from quintet.text.porter import stem
from quintet.text.tokens import words

FEW_WORDS = 2
ALIKE = 95.0
"""Per cent, as rapidfuzz counts, from which an output is a copy."""
LEAST = 4
"""Content words of each text without which nothing is said of how far apart they are."""
COMPARED = 20_000
"""Characters that are compared."""
SOURCES = ("source", "contexts")


def on_bundled_models(metric: Metric) -> bool:
    """Whether it stands on models that were made for English."""
    if isinstance(metric, Composite) and any(map(on_bundled_models, metric.ingredients)):
        return True
    given = metric.parameters.values()
    return any(isinstance(value, str) and value.startswith("bundled:") for value in given)


class Reservations:
    """What is to be said of one example, found out when first asked for."""

    def __init__(self, example: Example) -> None:
        self.example = example

    def about(self, needs: Sequence[str]) -> tuple[str, ...]:
        """Flags of a score that stands on a bundled model and needs these fields."""
        beside = any(field in SOURCES for field in needs)
        return (*self._of_output, *(self._of_source if beside else ()))

    @cached_property
    def _of_output(self) -> tuple[str, ...]:
        found = []
        if code := other_language(self.example.output):
            found.append(flag("other language", f"the output looks like {code}"))
        count = len(words(self.example.output[:COMPARED]))
        if 0 < count <= FEW_WORDS:
            found.append(flag("short output", f"{count} word{'s' * (count > 1)}"))
        return tuple(found)

    @cached_property
    def _of_source(self) -> tuple[str, ...]:
        output, source = self.example.output[:COMPARED], self._source[:COMPARED]
        found = []
        if code := other_language(source):
            found.append(flag("other language", f"the source looks like {code}"))
        if fuzz.ratio(_plain(output), _plain(source), score_cutoff=ALIKE) and len(words(output)) > FEW_WORDS:
            found.append(flag("copy of the source"))
        elif not found and not other_language(output) and self._far(output, source):
            found.append(flag("far from the source", "no content word in common"))
        return tuple(found)

    @property
    def _source(self) -> str:
        return self.example.source if self.example.source is not None else self.example.text("contexts")

    @staticmethod
    def _far(output: str, source: str) -> bool:
        own, there = ({stem(word) for word in content_words(text)} for text in (output, source))
        return len(own) >= LEAST <= len(there) and not own & there


def _plain(text: str) -> str:
    return " ".join(text.lower().split())
