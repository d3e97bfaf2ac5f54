"""Results on disk: cache and resume in one.

SQLite in WAL mode, one transaction per chunk; a value is compressed JSON, never pickle. Keys hash the signature of a
metric and the content of an example, so an entry can never be stale: change either and the key is another.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import time
import zlib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from quintet.core.metric import Row
from quintet.core.score import Score
from quintet.errors import InputError

SCHEMA = 1
_APPLICATION = 0x51554E54  # "QUNT": tells our files from other people's databases
_BATCH = 500


def key_of(signature: str, content: bytes) -> bytes:
    return hashlib.sha256(signature.encode("utf-8") + b"\x00" + content).digest()


class Store(Protocol):
    @property
    def keeps(self) -> bool:
        """Whether what was put can be got."""

    def get(self, keys: Iterable[bytes]) -> dict[bytes, Row]: ...
    def put(self, key: bytes, row: Row) -> None: ...
    def commit(self) -> None: ...
    def close(self) -> None: ...


class NoStore:
    """Remembers nothing."""

    keeps = False

    def get(self, keys: Iterable[bytes]) -> dict[bytes, Row]:
        return {}

    def put(self, key: bytes, row: Row) -> None: ...

    def commit(self) -> None: ...

    def close(self) -> None: ...


class DiskStore:
    keeps = True

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, timeout=60.0, isolation_level=None)
            self._open()
        except (sqlite3.Error, OSError) as error:
            raise self._unusable(error) from error
        self._pending: list[tuple[bytes, bytes]] = []

    def get(self, keys: Iterable[bytes]) -> dict[bytes, Row]:
        wanted = list(dict.fromkeys(keys))
        found: dict[bytes, Row] = {}
        try:
            for start in range(0, len(wanted), _BATCH):
                part = wanted[start : start + _BATCH]
                marks = ",".join("?" * len(part))
                for key, value in self._db.execute(f"SELECT key, value FROM results WHERE key IN ({marks})", part):
                    found[key] = _decode(value)
        except (sqlite3.Error, zlib.error, ValueError, KeyError, TypeError) as error:
            raise self._unusable(error) from error
        return found

    def put(self, key: bytes, row: Row) -> None:
        self._pending.append((key, _encode(row)))

    def commit(self) -> None:
        if not self._pending:
            return
        try:
            self._db.execute("BEGIN IMMEDIATE")
            # Two writers may meet on one key; both hold the same value.
            self._db.executemany("INSERT OR IGNORE INTO results (key, value) VALUES (?, ?)", self._pending)
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            with suppress(sqlite3.Error):  # a full disk may have undone it already
                self._db.execute("ROLLBACK")
            raise self._unusable(error) from error
        self._pending.clear()

    def close(self) -> None:
        self._db.close()

    def _open(self) -> None:
        tables = {name for (name,) in self._db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        (application,) = self._db.execute("PRAGMA application_id").fetchone()
        (schema,) = self._db.execute("PRAGMA user_version").fetchone()
        if tables and application != _APPLICATION:
            raise InputError("a database, but not a store of quintet", str(self.path), "name another with --cache FILE")
        if schema > SCHEMA:
            raise InputError(
                f"written by a newer quintet (schema {schema}, this one reads {SCHEMA})",
                str(self.path),
                "update quintet or name another with --cache FILE",
            )
        self._write_ahead()
        self._db.execute("PRAGMA synchronous = NORMAL")
        if not tables:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS results (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID"
            )
            self._db.execute(f"PRAGMA application_id = {_APPLICATION}")
            self._db.execute(f"PRAGMA user_version = {SCHEMA}")
            self._db.execute("COMMIT")

    def _write_ahead(self) -> None:
        """Changing the journal does not wait for another run that does the same at this moment, so we do."""
        until = time.monotonic() + 60.0
        while True:
            try:
                self._db.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > until:
                    raise
                time.sleep(0.02)

    def _unusable(self, error: Exception) -> InputError:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        safe, other = "what was written before is safe; ", "name another with --cache FILE"
        if _read_only(self.path):
            # SQLite says "unable to open" of a folder where it may not put its journal.
            reason, todo = "it may not be written", f"{safe}{other}, or pass --no-cache"
        elif isinstance(error, sqlite3.OperationalError | OSError):
            # Full or locked; anything else is about the bytes themselves.
            todo = f"{safe}free space or {other}, or pass --no-cache"
        else:
            todo = f"the file is damaged or no store: move it away, or {other}"
        return InputError(f"the result store cannot be used ({reason})", str(self.path), todo)


def _read_only(path: Path) -> bool:
    """A journal is written beside the file, so the folder counts as well."""
    folder = next((place for place in path.absolute().parents if place.exists()), path)
    effective = os.access in os.supports_effective_ids
    return not all(os.access(p, os.W_OK, effective_ids=effective) for p in (path, folder) if p.exists())


def _encode(row: Row) -> bytes:
    plain = {name: score.to_json() for name, score in row.items()}
    return zlib.compress(json.dumps(plain, separators=(",", ":")).encode("ascii"), 6)


def _decode(value: bytes) -> Row:
    return {name: Score.from_json(plain) for name, plain in json.loads(zlib.decompress(value)).items()}
