"""The one loop: chunk by chunk, look up what is known, score what is not, write it down, hand it on in order."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from quintet.core.flags import ABSTAINED, EMPTY_OUTPUT
from quintet.core.item import Item, Scored
from quintet.core.metric import Composite, Metric, Row
from quintet.core.score import Score, no_score
from quintet.errors import InputError, MissingField
from quintet.runner.executors import Executor, Here, Job, Pending, Work
from quintet.runner.plan import CHUNK_ROWS, Column, by_metric, chunks, leaves
from quintet.runner.reservations import Reservations, on_bundled_models
from quintet.runner.store import Store, key_of
from quintet.text.abstention import abstains

KINDS = 20
"""Reasons for which rows are counted apart."""
_NUMBERS = re.compile(r"\d+")


@dataclass
class Tally:
    """What a run did, for the closing line; counted as it goes."""

    rows: int = 0
    computed: int = 0
    known: int = 0
    skipped: int = 0
    reasons: dict[str, tuple[int, str]] = field(default_factory=dict)
    """By reason, numbers in it aside: how many rows, and what was said of the first."""

    def count(self, scored: Scored) -> None:
        self.rows += 1
        missing = [score for score in scored.scores.values() if score.missing]
        if scored.item.example is None:
            self.skip(scored.item.kind or scored.item.problem, scored.item.problem)
        elif missing:
            reason = missing[0].flags[0] if missing[0].flags else "no score"
            self.skip(reason, reason)

    def skip(self, reason: str, said: str) -> None:
        self.skipped += 1
        kind = _NUMBERS.sub("#", reason)
        if kind not in self.reasons and len(self.reasons) >= KINDS:
            kind, said = "", "other reasons"
        count, first = self.reasons.get(kind, (0, said))
        self.reasons[kind] = (count + 1, first)


def run(
    columns: Sequence[Column],
    items: Iterable[Item],
    store: Store,
    *,
    skip_bad: bool = False,
    chunk_rows: int = CHUNK_ROWS,
    executor: Executor | None = None,
    tally: Tally | None = None,
) -> Iterator[Scored]:
    """Yields one Scored per item, in order.

    A chunk is one transaction with a cache of its own: so what a chunk computes depends on
    the chunk and the store alone, and a killed run that is started again gives the same bytes.
    """
    groups = by_metric(columns)
    needs = [(column, column.about.needs, on_bundled_models(column.metric)) for column in columns]
    tally = Tally() if tally is None else tally
    executor = Here() if executor is None else executor
    executor.start(Job(tuple(leaves(groups))))
    try:
        desk = _Desk(store, skip_bad, tally, {metric: metric.signature for metric in leaves(groups)})
        for chunk, leaf_tables in _answered(chunks(items, chunk_rows), desk, executor):
            tables = {m: _table(m, chunk, leaf_tables, skip_bad) for m in groups}
            for position, item in enumerate(chunk):
                about = None if item.example is None else Reservations(item.example)
                scores = {
                    c.label: _told(tables[c.metric][position][c.dimension], about, c, own, bundled)
                    for c, own, bundled in needs
                }
                scored = Scored(item, scores)
                tally.count(scored)
                yield scored
    finally:
        executor.close()


def _answered(
    parts: Iterator[list[Item]], desk: _Desk, executor: Executor
) -> Iterator[tuple[list[Item], dict[Metric, list[Row]]]]:
    """Chunks with their scores, in order; up to `executor.ahead` of them are under way behind the one handed out."""
    under_way: deque[tuple[_Question, Pending]] = deque()
    stopped: Exception | None = None
    while stopped is None:
        # A bad row ahead stops the run only when all rows before its chunk are handed out, as with one process.
        try:
            chunk = next(parts, None)
            if chunk is None:
                break
            question = desk.ask(chunk)
            under_way.append((question, executor.submit(question.work)))
        except Exception as error:
            stopped = error
        while stopped is None and len(under_way) > executor.ahead:
            yield desk.file(*under_way.popleft())
    while under_way:
        yield desk.file(*under_way.popleft())
    if stopped is not None:
        raise stopped


@dataclass(frozen=True, slots=True)
class _Question:
    """One chunk: for each leaf metric, what is settled, what the store knows, and what has to be scored."""

    chunk: list[Item]
    settled: dict[Metric, dict[int, Row]]
    keys: dict[Metric, dict[int, bytes]]
    known: dict[bytes, Row]
    promised: list[bytes]
    """Keys that a chunk before this one, still under way, will put into the store."""
    fresh: dict[Metric, list[int]]
    work: Work


@dataclass
class _Desk:
    """Asks the store before a chunk goes out, and writes the answer down when it is back."""

    store: Store
    skip_bad: bool
    tally: Tally
    signatures: Mapping[Metric, str]
    under_way: set[bytes] = field(default_factory=set)

    def ask(self, chunk: list[Item]) -> _Question:
        settled: dict[Metric, dict[int, Row]] = {}
        keys: dict[Metric, dict[int, bytes]] = {}
        for metric, signature in self.signatures.items():
            settled[metric], keys[metric] = {}, {}
            for position, item in enumerate(chunk):
                problem = _problem(metric, item, self.skip_bad)
                if problem:
                    settled[metric][position] = {d.name: no_score(problem) for d in metric.dimensions}
                elif item.example is not None:
                    keys[metric][position] = key_of(signature, item.example.digest(metric.fields))
        wanted = dict.fromkeys(key for own in keys.values() for key in own.values())
        promised = [key for key in wanted if key in self.under_way]
        known = self.store.get(key for key in wanted if key not in self.under_way)
        fresh, work = {}, []
        for index, metric in enumerate(self.signatures):
            first = {key: position for position, key in reversed(keys[metric].items())}
            new = sorted(p for key, p in first.items() if key not in known and key not in self.under_way)
            self.tally.computed += len(new)
            self.tally.known += len(keys[metric]) - len(new)
            if new:
                fresh[metric] = new
                work.append((index, [example for p in new if (example := chunk[p].example) is not None]))
        if self.store.keeps:
            self.under_way.update(keys[metric][p] for metric, positions in fresh.items() for p in positions)
        return _Question(chunk, settled, keys, known, promised, fresh, work)

    def file(self, question: _Question, pending: Pending) -> tuple[list[Item], dict[Metric, list[Row]]]:
        rows = dict(question.known)
        rows.update(self.store.get(question.promised))
        for (metric, positions), answer in zip(question.fresh.items(), pending(), strict=True):
            for position, row in zip(positions, answer, strict=True):
                key = question.keys[metric][position]
                rows[key] = row
                self.store.put(key, row)
                self.under_way.discard(key)
        self.store.commit()
        tables = {}
        for metric in self.signatures:
            settled, keys = question.settled[metric], question.keys[metric]
            tables[metric] = [settled[p] if p in settled else rows[keys[p]] for p in range(len(question.chunk))]
        return question.chunk, tables


def _table(
    metric: Metric, chunk: Sequence[Item], leaf_tables: Mapping[Metric, Sequence[Row]], skip_bad: bool
) -> Sequence[Row]:
    """A composite is put together from its ingredients' tables; it costs nothing, so it is not stored."""
    if not isinstance(metric, Composite):
        return leaf_tables[metric]
    below = {m: _table(m, chunk, leaf_tables, skip_bad) for m in metric.ingredients}
    rows: list[Row] = []
    for position, item in enumerate(chunk):
        problem = _problem(metric, item, skip_bad)
        if problem or item.example is None:
            rows.append({d.name: no_score(problem) for d in metric.dimensions})
        else:
            rows += metric.combine_all([item.example], {m: [table[position]] for m, table in below.items()})
    return rows


def _told(score: Score, about: Reservations | None, column: Column, needs: Sequence[str], bundled: bool) -> Score:
    """What a reader must know beside the number. A field that is there but says nothing leaves no number."""
    if about is None or score.missing or EMPTY_OUTPUT in score.flags:
        return score
    empty = [f"empty {field}" for field in needs if about.example.blank(field)]
    if empty:
        return replace(no_score(empty[0]), flags=tuple(dict.fromkeys((*empty, *score.flags))))
    if ABSTAINED in column.unless and abstains(about.example.output):
        return no_score(ABSTAINED)
    flags = about.about(needs) if bundled else ()
    return replace(score, flags=tuple(dict.fromkeys((*flags, *score.flags)))) if flags else score


def _problem(metric: Metric, item: Item, skip_bad: bool) -> str:
    if item.example is None:
        if not skip_bad:
            raise InputError(item.problem, todo="mend the row, or pass --skip-bad to go on without it")
        return item.problem
    try:
        metric.check(item.example)
    except MissingField as error:
        if not skip_bad:
            raise
        return f"no {error.field}"
    return ""
