"""What is kept while a chunk is scored: passes of models and texts that were read, for all metrics that want them.

    with Cache():
        score(examples)

The runner opens a cache for each chunk and drops it afterwards: so what a chunk computes depends on the chunk alone,
and memory stays flat. Elsewhere every thread has one of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextvars import ContextVar, Token
from typing import Any, TypeVar

Store = TypeVar("Store")


class Cache:
    """A store for everyone who keeps something, made when it is first asked for."""

    def __init__(self) -> None:
        self._stores: dict[Hashable, Any] = {}
        self._before: list[Token[Cache]] = []

    def store(self, owner: Hashable, make: Callable[[], Store]) -> Store:
        if owner not in self._stores:
            self._stores[owner] = make()
        found: Store = self._stores[owner]
        return found

    def drop(self, owner: Hashable) -> None:
        self._stores.pop(owner, None)

    def __enter__(self) -> Cache:
        self._before.append(_current.set(self))
        return self

    def __exit__(self, *_: object) -> None:
        _current.reset(self._before.pop())


_current: ContextVar[Cache] = ContextVar("quintet cache")


def current() -> Cache:
    """Of the chunk that is being scored; outside of a run, this thread's."""
    try:
        return _current.get()
    except LookupError:
        return fresh()


def fresh() -> Cache:
    """An empty one from here on, for this thread."""
    made = Cache()
    _current.set(made)
    return made
