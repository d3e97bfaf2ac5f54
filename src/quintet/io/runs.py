"""The runs of this machine: what was scored, when, at which commit, with the score of every row; no texts.

SQLite beside the cache, with a number for its schema. A run is named by its number, or from the end: `@-1` is the
latest; `last-on-main` is the latest of that branch.
"""

from __future__ import annotations

import json
import math
import os
import re
import sqlite3
import subprocess
import zlib
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from quintet.core.plain import Cells, JsonObject
from quintet.errors import InputError, UnknownName
from quintet.io.paths import cache_folder

SCHEMA = 1
MOST_ROWS = 200_000
"""Of a longer run the means are kept, and not the score of each row."""
_APPLICATION = 0x51554E52  # "QUNR": tells our files from other people's databases
_NAME = re.compile(r"@-?\d+\Z|last-on-(.+)\Z")
_FIELDS = ("at", "what", "files", "branch", "commit_id", "rows", "seconds", "columns", "version")


@dataclass(frozen=True, slots=True)
class Column:
    mean: float | None
    low: float | None
    high: float | None
    n: int
    higher_is_better: bool
    signature: str


@dataclass(frozen=True, slots=True)
class Run:
    what: str
    """`task fact`, or the metrics."""
    files: tuple[str, ...]
    rows: int
    columns: Mapping[str, Column]
    seconds: float = 0.0
    branch: str = ""
    commit: str = ""
    version: str = ""
    at: str = ""
    """UTC, to the second."""
    number: int = 0
    ids: Sequence[str] = field(default=(), repr=False)
    values: Mapping[str, Sequence[float | None]] = field(default_factory=dict, repr=False)

    def to_json(self) -> JsonObject:
        plain = asdict(self)
        del plain["ids"], plain["values"]
        return plain


def is_run(name: str) -> bool:
    """Whether an argument names a run and not a file."""
    return _NAME.match(name) is not None and not Path(name).exists()


def runs_file(cache: bool | str | os.PathLike[str] = True) -> Path:
    """Beside the cache, wherever that lies."""
    folder = cache_folder() if isinstance(cache, bool) else Path(cache).parent
    return folder / "runs.sqlite"


class RunStore:
    def __init__(self, path: Path | None = None) -> None:
        self.path = runs_file() if path is None else path

    def record(self, run: Run) -> int:
        """Keeps a run and gives back its number."""
        branch, commit = (run.branch, run.commit) if run.branch else where_we_are()
        rows = {"ids": list(run.ids), "values": {k: list(v) for k, v in run.values.items()}}
        packed = zlib.compress(json.dumps(rows, ensure_ascii=False).encode("utf-8", "surrogatepass"), 6)
        columns = {label: asdict(column) for label, column in run.columns.items()}
        at = run.at or datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S")
        cells = (at, run.what, json.dumps(run.files), branch, commit, run.rows, run.seconds, json.dumps(columns),
                 run.version, packed if run.rows <= MOST_ROWS else None)  # fmt: skip
        with closing(self._open(create=True)) as db, db:
            names = ", ".join((*_FIELDS, "scores"))
            number = db.execute(f"INSERT INTO runs ({names}) VALUES ({', '.join('?' * len(cells))})", cells).lastrowid
        return int(number or 0)

    def runs(self, *, what: str = "", branch: str = "", file: str = "", last: int | None = None) -> list[Run]:
        """Oldest first; `what` and `file` are parts of a name."""
        if not self.path.exists():
            return []
        with closing(self._open()) as db:
            rows = db.execute(f"SELECT number, {', '.join(_FIELDS)} FROM runs ORDER BY number").fetchall()
        found = [_run(row) for row in rows]
        kept = [r for r in found if what in r.what and branch in ("", r.branch) and any(file in f for f in r.files)]
        return kept if last is None else kept[-last:]

    def find(self, name: str, columns: Sequence[str] = ()) -> Run:
        """A run with the scores of its rows; the latest of a branch must have the `columns`."""
        runs = self.runs()
        if not runs:
            raise InputError("no run is kept here yet", str(self.path), "score something first: quintet score")
        number = name.removeprefix("@")
        if name.startswith("last-on-"):
            branch = name.removeprefix("last-on-")
            own = [run for run in reversed(runs) if run.branch == branch]
            if not own:
                raise UnknownName("branch of a kept run", branch, {run.branch for run in runs if run.branch})
            chosen = next((run for run in own if set(columns) <= set(run.columns)), None)
            if chosen is None:
                raise InputError(f"no run on {branch} has {' and '.join(columns)}", str(self.path))
        elif number.lstrip("-").isdigit():
            place = int(number)
            chosen = next((run for run in runs if run.number == place), None)
            if place < 0:
                chosen = runs[place] if -place <= len(runs) else None
            if chosen is None:
                raise InputError(f"there is no run {name}", str(self.path), "quintet history lists them")
        else:
            raise InputError(f"{name!r} names no run", todo="give a number, @-1 for the latest, or last-on-BRANCH")
        with closing(self._open()) as db:
            (packed,) = db.execute("SELECT scores FROM runs WHERE number = ?", (chosen.number,)).fetchone()
        if packed is None:
            raise InputError(f"run {chosen.number} has {chosen.rows:,} rows, of which only the means are kept")
        rows = json.loads(zlib.decompress(packed))
        return Run(**{**_fields(chosen), "ids": rows["ids"], "values": rows["values"]})

    def forget(self, keep: int = 0) -> int:
        """Drops all runs but the latest few; how many went."""
        if not self.path.exists():
            return 0
        with closing(self._open()) as db:
            with db:
                rule = "number NOT IN (SELECT number FROM runs ORDER BY number DESC LIMIT ?)"
                gone = db.execute(f"DELETE FROM runs WHERE {rule}", (keep,)).rowcount
            db.execute("VACUUM")
        return gone

    def _open(self, create: bool = False) -> sqlite3.Connection:
        try:
            if create:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            db = sqlite3.connect(self.path, timeout=30.0)
            (application,) = db.execute("PRAGMA application_id").fetchone()
            (schema,) = db.execute("PRAGMA user_version").fetchone()
            tables = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if tables and application != _APPLICATION:
                raise InputError("a database, but not one of runs", str(self.path), "move it away")
            if schema > SCHEMA:
                raise InputError(f"written by a newer quintet (schema {schema})", str(self.path), "update quintet")
            if not tables:
                with db:
                    db.execute(
                        "CREATE TABLE IF NOT EXISTS runs (number INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT, "
                        "what TEXT, files TEXT, branch TEXT, commit_id TEXT, rows INTEGER, seconds REAL, columns TEXT, "
                        "version TEXT, scores BLOB)"
                    )
                db.execute(f"PRAGMA application_id = {_APPLICATION}")
                db.execute(f"PRAGMA user_version = {SCHEMA}")
            return db
        except (sqlite3.Error, OSError) as error:
            raise InputError(f"the runs cannot be used ({error})", str(self.path), "move the file away") from None


def rows_of(name: str, columns: Sequence[str] = ()) -> list[Cells]:
    """A run as rows of a scored file: id and scores."""
    run = RunStore().find(name, columns)
    return [{"id": id, **{k: v[place] for k, v in run.values.items()}} for place, id in enumerate(run.ids)]


def where_we_are() -> tuple[str, str]:
    """Branch and commit, from the CI's variables or from git; empty outside of a repository."""
    names = ("GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_BRANCH")
    branch = next((os.environ[name] for name in names if os.environ.get(name)), None)
    commit = os.environ.get("GITHUB_SHA") or os.environ.get("CI_COMMIT_SHA")
    if branch and commit:
        return branch, commit[:10]
    try:
        return _git("--abbrev-ref", "HEAD"), _git("--short=10", "HEAD")
    except (OSError, subprocess.SubprocessError):
        return "", ""


def _git(*arguments: str) -> str:
    asked = ["git", "rev-parse", *arguments]
    return subprocess.run(asked, capture_output=True, text=True, timeout=5, check=True).stdout.strip()


def number_or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _run(row: Sequence[Any]) -> Run:
    number, at, what, files, branch, commit, rows, seconds, columns, version = row
    return Run(
        what=what, files=tuple(json.loads(files)), rows=rows, seconds=seconds, branch=branch, commit=commit,
        columns={label: Column(**about) for label, about in json.loads(columns).items()},
        version=version, at=at, number=number,
    )  # fmt: skip


def _fields(run: Run) -> JsonObject:
    return {name: getattr(run, name) for name in Run.__slots__}
