"""Work that nobody waits for any more ends at the next checkpoint: models pass one before every batch, long loops now
and then."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from quintet.errors import QuintetError

_here = threading.local()


class Stopped(QuintetError):
    """Nobody waited for it, or the program is ending."""

    def __init__(self) -> None:
        super().__init__("stopped before it was done")


@contextmanager
def stopping_when(asked: Callable[[], bool]) -> Iterator[None]:
    """What this thread computes inside stops soon after `asked` says so."""
    before = getattr(_here, "asked", None)
    _here.asked = asked
    try:
        yield
    finally:
        _here.asked = before


def checkpoint() -> None:
    asked: Callable[[], bool] | None = getattr(_here, "asked", None)
    if asked is not None and asked():
        raise Stopped
