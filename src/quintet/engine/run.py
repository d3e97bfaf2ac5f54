"""The one loop: chunk by chunk, look up what is known, score what is not, write it down, hand it on in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from quintet.core.composite import Composite
from quintet.core.item import Item, Scored
from quintet.core.metric import Metric, Row
from quintet.core.score import no_score
from quintet.engine.plan import CHUNK_ROWS, Column, by_metric, chunks, leaves
from quintet.engine.store import Store, key_of
from quintet.errors import InputError, MissingField


@dataclass
class Tally:
    """What a run did, for the closing line; counted as it goes."""

    rows: int = 0
    computed: int = 0
    known: int = 0
    skipped: int = 0
    reasons: dict[str, int] = field(default_factory=dict)

    def skip(self, reason: str) -> None:
        self.skipped += 1
        self.reasons[reason] = self.reasons.get(reason, 0) + 1


def run(
    columns: Sequence[Column],
    items: Iterable[Item],
    store: Store,
    *,
    skip_bad: bool = False,
    chunk_rows: int = CHUNK_ROWS,
    between_chunks: Callable[[], None] = lambda: None,
    tally: Tally | None = None,
) -> Iterator[Scored]:
    """Yields one Scored per item, in order.

    A chunk is one transaction, and `between_chunks` drops what models remember: so what a chunk computes depends on
    the chunk and the store alone, and a killed run that is started again gives the same bytes.
    """
    groups = by_metric(columns)
    tally = Tally() if tally is None else tally
    for metric in groups:
        metric.prepare()
    signatures = {metric: metric.signature for metric in leaves(groups)}
    for chunk in chunks(items, chunk_rows):
        leaf_tables = {m: _score_leaf(m, signatures[m], chunk, store, skip_bad, tally) for m in signatures}
        tables = {m: _table(m, chunk, leaf_tables, skip_bad) for m in groups}
        store.commit()
        between_chunks()
        for position, item in enumerate(chunk):
            tally.rows += 1
            scores = {c.label: tables[c.metric][position][c.dimension] for c in columns}
            if item.example is None:
                tally.skip(item.problem)
            elif any(s.missing for s in scores.values()):
                tally.skip(next(s.flags[0] if s.flags else "no score" for s in scores.values() if s.missing))
            yield Scored(item, scores)


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


def _score_leaf(
    metric: Metric, signature: str, chunk: Sequence[Item], store: Store, skip_bad: bool, tally: Tally
) -> list[Row]:
    rows: list[Row | None] = [None] * len(chunk)
    keys: dict[int, bytes] = {}
    for position, item in enumerate(chunk):
        problem = _problem(metric, item, skip_bad)
        if problem:
            rows[position] = {d.name: no_score(problem) for d in metric.dimensions}
        elif item.example is not None:
            keys[position] = key_of(signature, item.example.digest(metric.fields))
    known = store.get(keys.values())
    fresh = {key: position for position, key in reversed(keys.items()) if key not in known}
    tally.known += len(keys) - len(fresh)
    tally.computed += len(fresh)
    order = sorted(fresh.values())
    examples = [example for p in order if (example := chunk[p].example) is not None]
    for position, row in zip(order, metric.score(examples) if examples else [], strict=True):
        known[keys[position]] = row
        store.put(keys[position], row)
    return [row if row is not None else known[keys[position]] for position, row in enumerate(rows)]


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
