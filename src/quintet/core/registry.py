"""The table of metrics: name to factory, filled once at import of `quintet.metrics`, open to users.

Metrics of other packages are found through entry points, when a name is not known or when all are listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from quintet.core.metric import Metric
from quintet.errors import QuintetError, UnknownName

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "quintet.metrics"
"""The group of entry points in which other packages name their metrics."""


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
    def __init__(self, group: str = "") -> None:
        self._entries: dict[str, Entry] = {}
        self._group = group
        """Entry points still to be looked up."""
        self.also: Callable[[], Iterable[str]] = tuple
        """Names that lead to a metric without being its own: what other tools call a dimension."""

    def add(self, name: str, target: str | Callable[..., Metric], summary: str = "", **preset: object) -> None:
        self._entries[name] = Entry(name, target, tuple(preset.items()), summary)

    def __getitem__(self, name: str) -> Entry:
        if name not in self:
            raise UnknownName("metric", name, [*self._entries, *self.also()])
        return self._entries[name]

    def __contains__(self, name: str) -> bool:
        if name not in self._entries:
            self._find_others()
        return name in self._entries

    def __iter__(self) -> Iterator[Entry]:
        self._find_others()
        return iter(self._entries.values())

    def _find_others(self) -> None:
        """Metrics of other packages; none takes the name of one that is there already."""
        group, self._group = self._group, ""
        if group:
            from importlib.metadata import entry_points

            for point in entry_points(group=group):
                if point.name not in self._entries:
                    package = point.dist.name if point.dist else point.value
                    self.add(point.name, _Foreign(point, package), f"from the package {package}")


@dataclass(frozen=True, slots=True)
class _Foreign:
    """A metric of another package, imported when it is built."""

    point: EntryPoint
    package: str

    def __call__(self, **parameters: object) -> Metric:
        try:
            made = self.point.load()
        except (ImportError, AttributeError) as error:
            raise QuintetError(
                f"the metric {self.point.name} of the package {self.package} cannot be loaded ({error})"
            ) from None
        found = made(**parameters)
        if not isinstance(found, Metric):
            raise QuintetError(
                f"{self.point.name} of the package {self.package} is no quintet.Metric but {type(found).__name__}"
            )
        return found


metrics = Registry(GROUP)
"""The one table. `quintet metrics` prints it; `quintet.load(NAME)` builds from it."""
