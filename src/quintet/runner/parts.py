"""Scoring in parts that are each written by whoever scored them: for files that no machine should hold or wait for.

A part is some chunks of rows. Its name holds its place and a key of all that its content depends on: the rows, the
metrics' signatures, the columns. It is written whole or not at all. So a part that is there is done, whoever made it;
a run that was killed goes on where it stood, and a part that two machines made is the same part. The manifest, written
last, lists the parts in order.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import PurePath
from typing import Any

from quintet.core.item import Item
from quintet.core.plain import JsonObject
from quintet.core.result import Layout, flat_row
from quintet.errors import InputError
from quintet.io.atomic import Target
from quintet.io.cells import json_ready, json_text
from quintet.io.remote import Folder, is_url
from quintet.runner.executors import Executor, Pending, open_all
from quintet.runner.plan import Column, by_metric, chunks, leaves
from quintet.runner.run import run
from quintet.runner.store import NoStore

CHUNKS = 16
"""Of a part: about a thousand rows. Fewer are much work for a store, more are much work lost with a machine."""
MANIFEST = "manifest.json"
FORMAT = 1
_NAME = re.compile(r"part-\d{6,}-[0-9a-f]{16}\.jsonl")


@dataclass(frozen=True, slots=True)
class Part:
    name: str
    rows: int
    scored: Mapping[str, tuple[int, float]]
    """For each column: how many rows have a score, and their sum."""
    known: bool = False
    """It was there already."""


@dataclass(frozen=True)
class PartJob:
    """What every worker is told once; it takes the place of `executors.Job`."""

    columns: tuple[Column, ...]
    layout: Layout
    place: str
    skip_bad: bool = False

    def prepare(self) -> None:
        open_all(leaves(by_metric(self.columns)))

    def do(self, work: Any) -> list[object]:
        (number, items), folder = work, Folder(self.place)
        name = f"part-{number:06}-{self.key(items)}.jsonl"
        content = folder.read(name)
        if content is not None and (part := self._part(name, content, True)) is not None and part.rows == len(items):
            return [part]
        rows = run(self.columns, items, NoStore(), skip_bad=self.skip_bad)
        lines = [json_text(json_ready(flat_row(scored, self.layout))) + "\n" for scored in rows]
        content = "".join(lines).encode("utf-8")
        folder.write(name, content)
        return [self._part(name, content, False)]

    def key(self, items: Sequence[Item]) -> str:
        """Of everything that the part's bytes depend on."""
        digest = hashlib.sha256()
        told: list[object] = [FORMAT, [(c.label, c.metric.signature) for c in self.columns], list(self.layout.columns)]
        for item in items:
            example = None if item.example is None else asdict(item.example)
            told.append([example, item.problem, json_ready(item.carried), item.raw])
        for each in told:
            digest.update(json_text(json_ready(each)).encode("utf-8") + b"\n")
        return digest.hexdigest()[:16]

    def _part(self, name: str, content: bytes, known: bool) -> Part | None:
        """None where the content is not what a part holds."""
        sums: dict[str, tuple[int, float]] = {column.label: (0, 0.0) for column in self.columns}
        try:
            rows = [json.loads(line) for line in content.decode("utf-8").split("\n") if line]
        except ValueError:
            return None
        for row in rows:
            for label, (count, total) in sums.items():
                value = row.get(self.layout.names[label])
                if value is not None:
                    sums[label] = (count + 1, total + value)
        return Part(name, len(rows), sums, known)


def run_parts(job: PartJob, items: Iterable[Item], executor: Executor, part_chunks: int = CHUNKS) -> Iterator[Part]:
    """Parts in order as they are done; no more are under way than the executor can take."""
    under_way: deque[Pending] = deque()
    Folder(job.place).prepare()
    executor.start(job)  # type: ignore[arg-type]  # it prepares and does, which is all that is asked of a job
    try:
        for number, part in enumerate(_parts(items, part_chunks)):
            under_way.append(executor.submit((number, part)))  # type: ignore[arg-type]
            while len(under_way) > executor.ahead:
                yield under_way.popleft()()[0]  # type: ignore[misc]
        while under_way:
            yield under_way.popleft()()[0]  # type: ignore[misc]
    finally:
        executor.close()


def finish(job: PartJob, parts: Sequence[Part]) -> JsonObject:
    """Writes the manifest, then removes what earlier runs on other rows left behind: a reader of all parts in the
    folder reads these and no others."""
    folder = Folder(job.place)
    means = {}
    for column in job.columns:
        count = sum(part.scored[column.label][0] for part in parts)
        total = sum(part.scored[column.label][1] for part in parts)
        means[column.label] = {
            "signature": column.metric.signature, "rows": count, "mean": total / count if count else None,
        }  # fmt: skip
    told = {
        "format": FORMAT,
        "rows": sum(part.rows for part in parts),
        "columns": means,
        "parts": [{"name": part.name, "rows": part.rows} for part in parts],
    }
    folder.write(MANIFEST, (json.dumps(told, indent=1, ensure_ascii=False) + "\n").encode("utf-8"))
    ours = {part.name for part in parts}
    for name in folder.names():
        if _NAME.fullmatch(name) and name not in ours:
            folder.remove(name)
    return told


def _parts(items: Iterable[Item], part_chunks: int) -> Iterator[list[Item]]:
    """Whole chunks, so that rows are scored in the company in which one machine would score them."""
    made = chunks(items)
    while some := list(islice(made, part_chunks)):
        yield [item for chunk in some for item in chunk]


def part_place(out: str) -> tuple[str, str | None]:
    """The folder of the parts, and the one file they are to become."""
    ending = PurePath(out).suffix.lower()
    if ending == ".jsonl" and "://" not in out:
        return f"{out}.parts", out
    if ending in (".csv", ".tsv", ".json", ".parquet", ".gz", ".xlsx", ".md", ".html"):
        raise InputError("parts are JSON Lines", out, "name a folder, an address such as s3://…, or a file.jsonl")
    return out, None


class WholeFile:
    """One local file that the parts become in the end."""

    def __init__(self, place: str, target: Target) -> None:
        self._place, self._target = place, target

    def put_together(self, parts: Sequence[Part]) -> None:
        folder = Folder(self._place)
        with self._target.told():
            for part in parts:
                self._target.stream.write(folder.read(part.name) or b"")
        self._target.finish()
        for name in folder.names():
            if _NAME.fullmatch(name) or name == MANIFEST:
                folder.remove(name)
        with contextlib.suppress(OSError):  # something of somebody else's lies there
            os.rmdir(self._place)


@contextlib.contextmanager
def whole_file(place: str, single: str | None) -> Iterator[WholeFile | None]:
    """Holds what is written, so that a second run on it is told so (in stores, which have no locks, equal parts have
    equal names and contents)."""
    if is_url(place):
        yield None
        return
    Folder(place).prepare()
    target = Target(single or os.path.join(place, ".running"))
    try:
        yield None if single is None else WholeFile(place, target)
    finally:
        target.abandon()
