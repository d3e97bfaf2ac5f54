"""Between the loop and the store: what is known of a chunk, what has to be scored, and what a run came to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from quintet.core.item import Item, Scored
from quintet.core.metric import Metric, Row
from quintet.core.score import no_score
from quintet.errors import InputError, MissingField
from quintet.runner.executors import Pending, Work
from quintet.runner.store import Store, key_of

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


@dataclass(frozen=True, slots=True)
class Question:
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
class Desk:
    """Asks the store before a chunk goes out, and writes the answer down when it is back."""

    store: Store
    skip_bad: bool
    tally: Tally
    signatures: Mapping[Metric, str]
    under_way: set[bytes] = field(default_factory=set)

    def ask(self, chunk: list[Item]) -> Question:
        settled: dict[Metric, dict[int, Row]] = {}
        keys: dict[Metric, dict[int, bytes]] = {}
        for metric, signature in self.signatures.items():
            settled[metric], keys[metric] = {}, {}
            for position, item in enumerate(chunk):
                problem = problem_of(metric, item, self.skip_bad)
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
        return Question(chunk, settled, keys, known, promised, fresh, work)

    def file(self, question: Question, pending: Pending) -> tuple[list[Item], dict[Metric, list[Row]]]:
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


def problem_of(metric: Metric, item: Item, skip_bad: bool) -> str:
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
