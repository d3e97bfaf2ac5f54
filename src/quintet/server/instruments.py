"""Counters and histograms in Prometheus' text form (exposition format 0.0.4); a hundred lines need no library."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from quintet._secrets import masked

# One JSON object per line on standard error. Texts, ids, paths and queries of users never get here.


def log(event: str, **facts: object) -> None:
    now = time.time()
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now * 1000) % 1000:03d}Z"
    line = json.dumps({"time": stamp, "event": event, **facts}, ensure_ascii=True, default=str)
    with contextlib.suppress(OSError, ValueError):  # nobody reads it any more: the service goes on
        sys.stderr.write(masked(line) + "\n")  # in one piece, whichever threads write at the same time
        sys.stderr.flush()


class AsEvents(logging.Handler):
    """uvicorn's own warnings in the same form; its messages are fixed texts, and arguments are left out."""

    def emit(self, record: logging.LogRecord) -> None:
        kind = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] else ""
        log(
            "server", level=record.levelname.lower(), message=str(record.msg)[:200], **({"error": kind} if kind else {})
        )


def take_over(name: str = "uvicorn.error") -> None:
    logger = logging.getLogger(name)
    logger.handlers = [AsEvents()]
    logger.propagate = False
    logger.setLevel(logging.WARNING)


CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256)

Labels = tuple[tuple[str, str], ...]


@dataclass
class Counter:
    name: str
    about: str
    values: dict[Labels, float] = field(default_factory=dict)

    def add(self, amount: float = 1.0, **labels: str) -> None:
        key = tuple(sorted(labels.items()))
        self.values[key] = self.values.get(key, 0.0) + amount

    def lines(self) -> list[str]:
        head = [f"# HELP {self.name} {self.about}", f"# TYPE {self.name} counter"]
        shown = self.values or {(): 0.0}
        return head + [f"{self.name}{_labels(key)} {value:.17g}" for key, value in sorted(shown.items())]


@dataclass
class Gauge:
    name: str
    about: str
    read: Callable[[], float]

    def lines(self) -> list[str]:
        return [f"# HELP {self.name} {self.about}", f"# TYPE {self.name} gauge", f"{self.name} {self.read():.17g}"]


@dataclass
class Histogram:
    name: str
    about: str
    bounds: Sequence[float]
    counts: list[int] = field(default_factory=list)
    total: float = 0.0

    def add(self, value: float) -> None:
        if not self.counts:
            self.counts = [0] * (len(self.bounds) + 1)
        place = next((i for i, bound in enumerate(self.bounds) if value <= bound), len(self.bounds))
        self.counts[place] += 1
        self.total += value

    def lines(self) -> list[str]:
        lines = [f"# HELP {self.name} {self.about}", f"# TYPE {self.name} histogram"]
        seen = 0
        for bound, count in zip([*self.bounds, None], self.counts or [0] * (len(self.bounds) + 1), strict=True):
            seen += count
            lines.append(f'{self.name}_bucket{{le="{"+Inf" if bound is None else f"{bound:g}"}"}} {seen}')
        return [*lines, f"{self.name}_sum {self.total:.17g}", f"{self.name}_count {seen}"]


class Instruments:
    """All that the service counts. Two threads add to it, so adding is locked."""

    def __init__(self, queued_rows: Callable[[], float], in_flight: Callable[[], float]) -> None:
        self._lock = threading.Lock()
        self.requests = Counter("quintet_requests_total", "Requests answered, by route and status.")
        self.refused = Counter("quintet_refused_total", "Requests refused, by reason.")
        self.rows = Counter("quintet_rows_total", "Examples scored.")
        self.seconds = Histogram("quintet_request_seconds", "Time from a request's first byte to its answer.", SECONDS)
        self.batch_rows = Histogram("quintet_batch_rows", "Examples per batch.", ROWS)
        self.batch_requests = Histogram("quintet_batch_requests", "Requests per batch.", ROWS)
        self._gauges = (
            Gauge("quintet_queue_rows", "Examples waiting.", queued_rows),
            Gauge("quintet_in_flight", "Requests being worked on.", in_flight),
            Gauge("process_resident_memory_bytes", "Resident memory.", resident_bytes),
        )

    def answered(self, route: str, status: int, seconds: float) -> None:
        with self._lock:
            self.requests.add(route=route, status=str(status))
            self.seconds.add(seconds)

    def refuse(self, reason: str) -> None:
        with self._lock:
            self.refused.add(reason=reason)

    def batch(self, requests: int, rows: int) -> None:
        with self._lock:
            self.rows.add(rows)
            self.batch_rows.add(rows)
            self.batch_requests.add(requests)

    def text(self) -> str:
        with self._lock:
            shown = (self.requests, self.refused, self.rows, self.seconds, self.batch_rows, self.batch_requests)
            lines = [line for each in (*shown, *self._gauges) for line in each.lines()]
        return "\n".join(lines) + "\n"


def resident_bytes() -> float:
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return float(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0.0


def _labels(labels: Labels) -> str:
    inside = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels)
    return f"{{{inside}}}" if inside else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
