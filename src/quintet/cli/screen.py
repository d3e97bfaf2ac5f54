"""What a person sees on the terminal: tables, coloured evidence, progress. Nothing here computes a score."""

from __future__ import annotations

import math
import re
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from rich import box
from rich.console import Console, Group, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn
from rich.progress import Task as ProgressTask
from rich.table import Table
from rich.text import Text

from quintet._secrets import masked
from quintet.core.evidence import counted as counted
from quintet.core.evidence import shorten as shorten
from quintet.core.evidence import visible
from quintet.core.evidence import weakest as weakest
from quintet.core.item import Scored
from quintet.core.plain import Foreign
from quintet.core.result import Column
from quintet.core.score import Score, Span
from quintet.core.sessions import Session, SessionScore

SHOWN_SESSIONS = 20
_WIDE = 120
_LONGEST_LINE = 600
"""Characters of a note: a file may have any number of columns, with names of any length."""
_GAP, _ROOM, _LONG, _NUMBER = 3, 30, 18, 6
"""Blanks between columns, the least room for a line of evidence, the longest name that is not broken, a number."""


class _Console(Console):
    """Names of files and columns, and what servers say, cannot drive the terminal either."""

    def print(self, *objects: object, **how: Foreign) -> None:
        super().print(*(visible(masked(each)) if isinstance(each, str) else each for each in objects), **how)


def console(stderr: bool = False, wide: int = _WIDE) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    # Without a terminal there is no width to fit: a fixed one keeps output the same everywhere.
    return _Console(file=stream, width=None if stream.isatty() else wide, highlight=False, soft_wrap=False)


def plain_table(
    headers: Sequence[str], rows: Iterable[Sequence[Any]], right: Sequence[int] = (), whole: Sequence[int] = (0,)
) -> Table:
    """`right`: columns of numbers; `whole`: columns of names."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for position, name in enumerate(headers):
        # A name that is broken in two cannot be copied, and a number over two lines cannot be read.
        number = position in right
        table.add_column(
            visible(name), justify="right" if number else "left", overflow="fold", no_wrap=position in whole or number
        )
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(visible(str(cell))) for cell in row))
    return table


def number(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.3f}"


def coloured(text: str, spans: Sequence[Span]) -> Text:
    """The text with weak words in red and strong ones in green, by where a value stands among the text's own."""
    painted = Text(visible(text))
    values = sorted(span.value for span in spans if span.kind == "word")
    for span in spans:
        if span.kind == "word" and values:
            rank = sum(value < span.value for value in values) / len(values)
            painted.stylize(_shade(rank, values[-1] - values[0]), span.start, span.end)
        elif span.kind != "word":
            painted.stylize("underline red", span.start, span.end)
    return painted


def _shade(rank: float, spread: float) -> str:
    if spread < 1e-9:
        return ""
    return "bold red" if rank < 0.15 else "yellow" if rank < 0.35 else "" if rank < 0.65 else "green"


def common_flags(rows: Sequence[Scored]) -> list[str]:
    """Flags of every row that has a text, such as references that nobody gave: said once, they leave room for more."""
    of_rows = [_flags(row) for row in rows if row.item.example is not None and row.item.example.output.strip()]
    return [flag for flag in of_rows[0] if all(flag in flags for flags in of_rows)] if of_rows else []


def _flags(scored: Scored) -> list[str]:
    return list(dict.fromkeys(flag for score in scored.scores.values() for flag in score.flags))


def example_table(
    rows: Sequence[Scored], labels: Sequence[str], width: int = _WIDE, highs: Mapping[str, float | None] | None = None
) -> RenderableType:
    """Scores with a line of evidence beside them, or below in a table of its own where names leave no room for it.

    `highs`: the best that each label can reach; what has reached it is not the lowest, though it be 0.
    """
    common = common_flags(rows)
    ids, systems, words, *values = zip(*(_cells(scored, labels, common, highs or {}) for scored in rows), strict=True)
    names = [header(label) for label in labels]
    taken = sum(_widest([name, *column]) + _GAP for name, column in zip(names, values, strict=True))
    first = {"id": ids, "system": systems} if any(systems) else {"id": ids}
    if _beside(first) + taken > width:
        # The table of means has the systems, too; here their names would crowd out the scores.
        first = {"id": ids}
    numbers = range(len(first), len(first) + len(names))
    if width - _beside(first) - taken >= _ROOM:
        columns = [*first.values(), *values, words]
        return plain_table([*first, *names, "evidence"], zip(*columns, strict=True), right=numbers)
    if _beside(first) + taken > width:
        room = (width - _beside(first)) // max(1, len(names)) - _GAP
        names = [_cropped(name, max(room, _NUMBER)) for name in names]
    above = plain_table([*first, *names], zip(*first.values(), *values, strict=True), right=numbers)
    below = plain_table(["id", "evidence"], [pair for pair in zip(ids, words, strict=True) if pair[1]])
    return Group(above, Text(""), below)


def _cells(
    scored: Scored, labels: Sequence[str], common: Sequence[str], highs: Mapping[str, float | None]
) -> list[str]:
    """Id, system, evidence, then the scores."""
    example = scored.item.example
    if example is None:
        return ["–", "", scored.item.problem, *("–" for _ in labels)]
    left = [label for label in labels if scored.scores[label].value != highs.get(label)]
    lowest = min(left, key=lambda label: _sort_key(scored.scores[label]), default=None)
    flags = [flag for flag in _flags(scored) if flag not in common]
    words = flags[0] if flags else _doubts(scored.scores[lowest], example.output) if lowest else ""
    return [example.id, example.system or "", words, *(number(scored.scores[label].value) for label in labels)]


GOOD = 0.7
"""From here on the weakest words of an output say nothing against it."""


def _doubts(score: Score, output: str) -> str:
    """The evidence of one line; nothing where the score is good and the words are only the least good ones."""
    words = weakest(score, output)
    return "" if words.startswith(("weakest:", "lowest:")) and GOOD <= score.value <= 1.0 else words


def _beside(columns: Mapping[str, Sequence[str]]) -> int:
    return sum(_widest([name, *column]) + _GAP for name, column in columns.items())


def _widest(cells: Iterable[str]) -> int:
    return max(len(part) for cell in cells for part in cell.split("\n"))


def _cropped(name: str, width: int) -> str:
    return "\n".join(part if len(part) <= width else part[: width - 1] + "…" for part in name.split("\n"))


def header(label: str) -> str:
    """A long name in lines, broken where its parts end."""
    for marks in ("/:,", "-"):
        parts = label.split("\n")
        if max(map(len, parts)) > _LONG:
            label = "\n".join(re.sub(f"(?<=[{marks}])(?=.)", "\n", part) for part in parts)
    return label


def _sort_key(score: Score) -> tuple[bool, float]:
    return (not score.spans, math.inf if score.missing else score.value)


def scale_lines(columns: Iterable[Column]) -> list[str]:
    """What must be known of scores that do not run from 0 to 1 with 1 the best."""
    lines = []
    for c in columns:
        if (c.low, c.high, c.higher_is_better) == (0.0, 1.0, True):
            continue
        low = "no lower bound" if math.isinf(c.low) else f"{c.low:g}"
        high = "no upper bound" if c.high is None or math.isinf(c.high) else f"{c.high:g}"
        lines.append(f"{c.label}: {low} to {high}, {'higher' if c.higher_is_better else 'lower'} is better")
    return lines


def say_columns(line: str) -> None:
    """Which column became which field: a wrong reading must be seen before its scores are believed."""
    console(stderr=True).print(f"columns: {shorten(line, _LONGEST_LINE)}", markup=False, soft_wrap=True)


def say_sessions(sessions: Sequence[Session], stderr: bool = False) -> None:
    """A line for each conversation: the mean of its turns and, in brackets, the worst with its number."""
    labels = list(dict.fromkeys(label for session in sessions for label in session.scores))
    shown = [
        [session.id, str(session.turns), *(_session_cell(session.scores[label]) for label in labels)]
        for session in sessions[:SHOWN_SESSIONS]
    ]
    view = console(stderr=stderr)
    view.print("conversations: mean of the turns (worst turn: its score)", markup=False)
    view.print(plain_table(["session", "turns", *map(header, labels)], shown, right=range(1, 2 + len(labels))))
    if len(sessions) > SHOWN_SESSIONS:
        view.print(f"… {counted(len(sessions) - SHOWN_SESSIONS, 'more conversation')}", markup=False)
    view.print()


def _session_cell(score: SessionScore) -> str:
    if score.worst_turn is None:
        return "–"
    return f"{number(score.mean)} ({score.worst_turn}: {number(score.worst)})"


EVERY = 10.0
"""Seconds between two lines where no terminal shows a bar."""


class Pace:
    """How many rows are done, how fast, and how long the others will take.

    Rows come in bursts, a chunk at a time. The rate is that of the last few bursts, up to the end of the latest: so it
    is true from the first chunk on, stands still while the next one is worked on, and forgets rows that were known
    from before."""

    bursts = 4
    gap = 0.25
    """Seconds without a row, after which the next one begins a burst."""

    def __init__(self, total: int | None, what: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.total, self.what, self.done = total, what, 0
        self._clock, self._last = clock, clock()
        self._ends = deque([(self._last, 0)], maxlen=self.bursts)

    def tick(self) -> None:
        now = self._clock()
        if now - self._last > self.gap and self.done:
            self._ends.append((self._last, self.done))
        self.done += 1
        self._last = now

    @property
    def rate(self) -> float:
        since, before = self._ends[0]
        return (self.done - before) / (self._last - since) if self._last > since else 0.0

    @property
    def words(self) -> str:
        """`4.9 rows/s, about 3 min left`."""
        if not self.rate:
            return "starting"
        left = "" if self.total is None else f", about {duration(max(0, self.total - self.done) / self.rate)} left"
        return f"{self.rate:.3g} rows/s{left}"

    @property
    def line(self) -> str:
        """What a log is told, once in a while."""
        of = "" if self.total is None else f" of {self.total:,}"
        words = self.words if self.rate else f"{duration(self._clock() - self._last)} since the start"
        return f"{self.what}: {self.done:,}{of} rows, {words}"


def duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"


@contextmanager
def progress(total: int | None, what: str) -> Iterator[Any]:
    """A bar with rate and time left on standard error; where that is no terminal, a line every ten seconds."""
    pace = Pace(total, what)
    if not sys.stderr.isatty():
        done = threading.Event()

        def say() -> None:
            while not done.wait(EVERY):
                with suppress(OSError, ValueError):  # nobody reads it any more
                    print(pace.line, file=sys.stderr, flush=True)

        teller = threading.Thread(target=say, daemon=True)
        teller.start()
        try:
            yield pace.tick
        finally:
            done.set()
            teller.join()
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), _Pace(pace))
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        job = bar.add_task(what, total=total)

        def advance() -> None:
            pace.tick()
            bar.advance(job)

        yield advance


class _Pace(ProgressColumn):
    def __init__(self, pace: Pace) -> None:
        super().__init__()
        self._pace = pace

    def render(self, task: ProgressTask) -> Text:
        return Text(self._pace.words)


# What a server behind `openai:` was asked in this run, for the last line.

ROLES = ("yes-no", "grader")


def spent(model: str | None) -> str | None:
    if model is None or not model.startswith("openai:"):
        return None
    from quintet.models.open import open_model

    used = [open_model(model, role).usage for role in ROLES]
    requests, retries, known, read, written = (
        sum(getattr(one, name) for one in used)
        for name in ("requests", "retries", "known", "prompt_tokens", "completion_tokens")
    )
    total = sum(one.cost for one in used)
    cost = f", cost {total:.4f}" if total else ""
    return (
        f"{requests} request{'s' * (requests != 1)} ({retries} again), "
        f"{known} answer{'s' * (known != 1)} from the cache, "
        f"{read} token{'s' * (read != 1)} read and {written} written{cost}"
    )
