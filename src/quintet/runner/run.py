"""The one loop: chunk by chunk, look up what is known, score what is not, write it down, hand it on in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from quintet.core.flags import ABSTAINED, EMPTY_OUTPUT
from quintet.core.item import Item, Scored
from quintet.core.metric import Composite, Metric, Row
from quintet.core.score import Score, no_score
from quintet.runner.desk import Desk, Question, Tally, problem_of
from quintet.runner.executors import Executor, Here, Job, Pending
from quintet.runner.plan import CHUNK_ROWS, Column, by_metric, chunks, leaves
from quintet.runner.reservations import Reservations, on_bundled_models
from quintet.runner.store import Store
from quintet.text.abstention import abstains


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

    A chunk is one transaction with a cache of its own: so what it computes depends on the chunk and the store alone,
    and a killed run that is started again gives the same bytes.
    """
    groups = by_metric(columns)
    needs = [(column, column.about.needs, on_bundled_models(column.metric)) for column in columns]
    tally = Tally() if tally is None else tally
    executor = Here() if executor is None else executor
    executor.start(Job(tuple(leaves(groups))))
    try:
        desk = Desk(store, skip_bad, tally, {metric: metric.signature for metric in leaves(groups)})
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
    parts: Iterator[list[Item]], desk: Desk, executor: Executor
) -> Iterator[tuple[list[Item], dict[Metric, list[Row]]]]:
    """Chunks with their scores, in order; up to `executor.ahead` of them are under way behind the one handed out."""
    under_way: deque[tuple[Question, Pending]] = deque()
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


def _table(
    metric: Metric, chunk: Sequence[Item], leaf_tables: Mapping[Metric, Sequence[Row]], skip_bad: bool
) -> Sequence[Row]:
    """A composite is put together from its ingredients' tables; it costs nothing, so it is not stored."""
    if not isinstance(metric, Composite):
        return leaf_tables[metric]
    below = {m: _table(m, chunk, leaf_tables, skip_bad) for m in metric.ingredients}
    rows: list[Row] = []
    for position, item in enumerate(chunk):
        problem = problem_of(metric, item, skip_bad)
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
