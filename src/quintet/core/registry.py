"""The table of metrics: name to factory, filled once at import of `quintet.metrics`, open to users."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module

from quintet.core.metric import Metric
from quintet.errors import UnknownName


@dataclass(frozen=True, slots=True)
class Entry:
    name: str
    target: str | Callable[..., Metric]
    """`package.module:Class`, imported when first asked for, or a factory."""
    preset: tuple[tuple[str, object], ...] = ()
    """Parameters that this name fixes: rouge-1 and rouge-2 are one class."""
    summary: str = ""

    def build(self, **parameters: object) -> Metric:
        target = self.target
        if isinstance(target, str):
            module, _, attribute = target.partition(":")
            target = getattr(import_module(module), attribute)
        return target(**{**dict(self.preset), **parameters})


class Registry:
    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}

    def add(self, name: str, target: str | Callable[..., Metric], summary: str = "", **preset: object) -> None:
        self._entries[name] = Entry(name, target, tuple(preset.items()), summary)

    def __getitem__(self, name: str) -> Entry:
        if name not in self._entries:
            raise UnknownName("metric", name, self._entries)
        return self._entries[name]

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())


metrics = Registry()
"""The one table. `quintet metrics` prints it; `quintet.load(NAME)` builds from it."""
