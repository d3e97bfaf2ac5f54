"""One JSON object per line on standard error. Texts, ids, paths and queries of users never get here."""

from __future__ import annotations

import contextlib
import json
import logging
import sys
import time
from typing import Any

from quintet._secrets import masked


def log(event: str, **facts: Any) -> None:
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
