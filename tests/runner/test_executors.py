"""Several processes: the same bytes as one, whatever happens to a worker."""

import itertools
import os
import pickle
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from quintet import _api as api
from quintet.core.cache import current
from quintet.core.dimension import Dimension
from quintet.core.example import Example
from quintet.core.item import Item, Scored
from quintet.core.metric import Metric, Row
from quintet.core.options import Options
from quintet.core.score import Score
from quintet.errors import InputError, MissingExtra, MissingField, QuintetError, UnknownName
from quintet.metrics import metrics as registry
from quintet.runner.desk import Tally
from quintet.runner.executors import THREADS, Executor, Here, Job, Processes
from quintet.runner.plan import Column
from quintet.runner.run import run
from quintet.runner.store import DiskStore, NoStore, Store


@dataclass(frozen=True)
class Batchy(Metric):
    """Its value depends on what else is in the batch, as a real model's last digits do; `stop` makes it die."""

    folder: str = ""
    stop: str = ""
    always: bool = False
    name = "batchy"
    dimensions = (Dimension("value", "How long, in company?", high=None),)

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        if self.stop and any(e.output == self.stop for e in examples):
            died = Path(self.folder) / "died"
            if self.always or not died.exists():
                died.touch()
                os.kill(os.getpid(), signal.SIGKILL)
        if any(e.output == "raise" for e in examples):
            raise ZeroDivisionError("no reason")
        total = sum(len(e.output) for e in examples)
        return [{"value": Score(len(e.output) / total, parts={"process": float(os.getpid())})} for e in examples]


@dataclass(frozen=True)
class Threads(Metric):
    """How many threads the process that scores may use, as each library reads it."""

    name = "threads"
    dimensions = (Dimension("value", "How many?", high=None),)

    def _score(self, examples: Sequence[Example]) -> list[Row]:
        (count,) = {int(os.environ[name]) for name in THREADS}
        return [{"value": Score(float(count))} for _ in examples]


def columns(**parameters: object) -> list[Column]:
    return [Column("value", Batchy(**parameters), "value")]  # type: ignore[arg-type]


def items(texts: Sequence[str]) -> list[Item]:
    return [Item(Example(text, id=str(i))) for i, text in enumerate(texts)]


TEXTS = ["a" * (n * n % 37 + 1) + str(n % 50) for n in range(120)]


def values(rows: Sequence[Scored]) -> list[float]:
    return [row.scores["value"].value for row in rows]


@pytest.mark.parametrize("kept", [True, False])
def test_workers_give_what_one_process_gives_and_all_of_them_work(tmp_path: Path, kept: bool) -> None:
    def store(name: str) -> Store:
        return DiskStore(tmp_path / name) if kept else NoStore()

    tallies = Tally(), Tally()
    alone = list(run(columns(), items(TEXTS), store("a"), chunk_rows=8, tally=tallies[0]))
    shared = list(run(columns(), items(TEXTS), store("b"), chunk_rows=8, tally=tallies[1], executor=Processes(2)))
    # Equal texts stand in several chunks: a chunk under way counts as known, or the later one would differ.
    assert values(shared) == values(alone)
    assert tallies[0] == tallies[1]
    assert [row.item for row in shared] == [row.item for row in alone]
    used = {row.scores["value"].parts["process"] for row in shared}
    assert 1 <= len(used) <= 2
    assert os.getpid() not in used


def test_the_real_carrier_gives_equal_rows_with_evidence() -> None:
    metrics = ["bertscore-f:model=fake:embedder", "gruen-redundancy", "ctc-consistency:model=fake:embedder"]
    plan = api.make_plan(Options(metrics=metrics))
    texts = [f"The dog ran home {n % 7} times. Then it slept." for n in range(30)]
    rows = [Item(Example(t, source=f"A dog ran. {t}", references=(t[::-1], t), id=t)) for t in texts]
    alone, shared = (
        list(run(plan.columns, rows, NoStore(), chunk_rows=7, executor=executor)) for executor in (Here(), Processes(2))
    )
    assert shared == alone


def test_every_metric_travels_to_a_worker() -> None:
    from multiprocessing.reduction import ForkingPickler

    for entry in registry:
        metric = entry.build()
        assert ForkingPickler.loads(ForkingPickler.dumps(Job((metric,)))).metrics == (metric,)


def test_a_worker_that_dies_is_replaced_and_no_row_is_lost(tmp_path: Path) -> None:
    executor = Processes(2)
    killed = run(
        columns(folder=str(tmp_path), stop=TEXTS[41]), items(TEXTS), NoStore(), chunk_rows=8, executor=executor
    )
    assert values(list(killed)) == values(list(run(columns(), items(TEXTS), NoStore(), chunk_rows=8)))
    assert executor.replaced == 1


def test_rows_that_kill_every_worker_are_named_and_those_before_kept(tmp_path: Path) -> None:
    rows = run(
        columns(folder=str(tmp_path), stop="x", always=True),
        items([*"abcdefgh", "x"]), DiskStore(tmp_path / "s.sqlite"), chunk_rows=4, executor=Processes(1),
    )  # fmt: skip
    assert len(list(itertools.islice(rows, 8))) == 8
    with pytest.raises(QuintetError, match="3 workers died one after the other on the same 1 rows"):
        next(rows)


def test_errors_come_back_as_they_are() -> None:
    for error in (
        MissingField("source", "7", "echo"), InputError("bad", "file", "mend it"), QuintetError("plain"),
        UnknownName("metric", "ech", ["echo"]), MissingExtra("torch", "torch", "training"),
    ):  # fmt: skip
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))
    with pytest.raises(QuintetError, match=r"internal error in a worker: ZeroDivisionError: no reason \(test_"):
        list(run(columns(), items(["raise"]), NoStore(), executor=Processes(1)))
    with pytest.raises(InputError, match="from 1 up"):
        Processes(0)


def test_what_models_remember_is_dropped_after_an_error_too() -> None:
    outside = current()
    with pytest.raises(ZeroDivisionError):
        Job((Batchy(),)).do([(0, [Example("raise")])])
    assert current() is outside


class Watched:
    """Counts what is under way."""

    ahead = 3

    def __init__(self) -> None:
        self.inner: Executor = Here()
        self.open = self.most = 0
        self.closed = False

    def start(self, job: Job) -> None:
        self.inner.start(job)

    def submit(self, work):  # type: ignore[no-untyped-def]
        self.open += 1
        self.most = max(self.most, self.open)
        pending = self.inner.submit(work)

        def answer():  # type: ignore[no-untyped-def]
            self.open -= 1
            return pending()

        return answer

    def close(self) -> None:
        self.closed = True


def test_the_reader_is_never_far_ahead_and_the_executor_is_closed() -> None:
    taken = 0

    def reader() -> Iterator[Item]:
        nonlocal taken
        for item in items(TEXTS):
            taken += 1
            yield item

    watched = Watched()
    rows = run(columns(), reader(), NoStore(), chunk_rows=4, executor=watched)
    for done, _ in enumerate(rows, start=1):
        assert taken <= done + 4 * (watched.ahead + 1)
    assert (watched.most, watched.open, watched.closed) == (4, 0, True)


def test_a_bad_row_ahead_stops_the_run_after_the_rows_before_it() -> None:
    rows = run(columns(), [*items(list("abcdefgh")), Item(None, "broken")], NoStore(), chunk_rows=4, executor=Watched())
    assert len(list(itertools.islice(rows, 8))) == 8
    with pytest.raises(InputError, match="broken"):
        next(rows)


@pytest.mark.parametrize(("told", "expected"), [(None, 1.0), ("3", 3.0)])
def test_workers_share_the_cores(monkeypatch: pytest.MonkeyPatch, told: str | None, expected: float) -> None:
    for name in THREADS:
        monkeypatch.delenv(name, raising=False)
    if told:
        monkeypatch.setenv("QUINTET_THREADS", told)
    many = Processes(1000)
    many.workers = 1  # a thousand would share the cores; one is enough to ask
    found = list(run([Column("value", Threads(), "value")], items(["a"]), NoStore(), executor=many))
    assert found[0].scores["value"].value == expected
