"""Who scores a chunk: this process, or several processes on this machine.

The loop in `run` asks the store, hands what is not known to an executor and writes answers down in input order. An
executor sees metrics and examples only; so which one is used cannot change a result.
"""

from __future__ import annotations

import os
import signal
import threading
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any, Protocol

from quintet.core.cache import Cache
from quintet.core.example import Example
from quintet.core.metric import Metric, Row
from quintet.errors import InputError, QuintetError

Work = Sequence[tuple[int, Sequence[Example]]]
"""What is to be scored of one chunk: the position of a metric among the job's, and examples it has no scores for."""
Answer = list[list[Row]]
Pending = Callable[[], Answer]

THREADS = ("QUINTET_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Ours, and those of the libraries that multiply: else every worker would use every core."""
AHEAD = 2
"""Chunks in flight for each worker: one being scored, one ready, so that memory stays flat and nobody waits."""
ATTEMPTS = 3
"""Workers that may die on a chunk before the rows are blamed."""


def open_all(metrics: Sequence[Metric]) -> None:
    """Opens the models of several metrics side by side: most of it is done by libraries that let go of Python."""
    with ThreadPoolExecutor(max(1, min(len(metrics), _cores())), thread_name_prefix="quintet-opening") as pool:
        for opening in [pool.submit(metric.prepare) for metric in metrics]:
            opening.result()


@dataclass(frozen=True, slots=True)
class Job:
    """What every worker of a run is told once."""

    metrics: tuple[Metric, ...]

    def prepare(self) -> None:
        open_all(self.metrics)

    def do(self, work: Work) -> Answer:
        """In a cache of its own, so that a chunk is scored alike whatever was scored before it."""
        with Cache():
            for position, examples in work:
                self.metrics[position].prefetch(examples)
            return [list(self.metrics[position].score(examples)) for position, examples in work]


class Executor(Protocol):
    @property
    def ahead(self) -> int:
        """Chunks that may be handed in before the oldest one is asked for."""

    def start(self, job: Job) -> None: ...
    def submit(self, work: Work) -> Pending:
        """Takes a chunk; the answer is had by calling what is given back."""

    def close(self) -> None: ...


class Here:
    """Scores in this process, when the answer is asked for."""

    ahead = 0

    def start(self, job: Job) -> None:
        self._job = job
        job.prepare()

    def submit(self, work: Work) -> Pending:
        return lambda: self._job.do(work)

    def close(self) -> None: ...


class Processes:
    """Scores in `workers` processes of this machine; each opens its models once. One that dies is replaced and its
    chunk done again."""

    def __init__(self, workers: int) -> None:
        if workers < 1:
            raise InputError(f"{workers} workers cannot score anything", todo="give --workers a number from 1 up")
        self.workers = workers
        self.ahead = AHEAD * workers
        self.replaced = 0
        """Workers that died and were started anew."""
        self._threads = max(1, _cores() // workers)

    def start(self, job: Job) -> None:
        self._job = job
        self._closed = False
        self._lock = threading.Lock()
        self._own = threading.local()
        self._started: list[tuple[SpawnProcess, Connection]] = []
        # One thread for each process: it sends, waits and receives, while the main thread reads and writes files.
        self._pool = ThreadPoolExecutor(self.workers, thread_name_prefix="quintet-worker")

    def submit(self, work: Work) -> Pending:
        return self._pool.submit(self._ask, work).result if work else list

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            self._closed = True
            for process, _ in self._started:
                process.kill()
        self._pool.shutdown(wait=True)
        for process, connection in self._started:
            process.join()
            connection.close()

    def _ask(self, work: Work) -> Answer:
        for _ in range(ATTEMPTS):
            try:
                connection = self._connection()
                connection.send(work)
                kind, content = connection.recv()
            except (EOFError, OSError):
                self._own.connection = None
                if self._closed:
                    raise QuintetError("stopped before the chunk was done") from None
                self.replaced += 1
                continue
            if kind == "answer":
                return list(content)
            raise content
        rows = max(len(examples) for _, examples in work)
        raise QuintetError(
            f"{ATTEMPTS} workers died one after the other on the same {rows} rows, perhaps out of memory; "
            "what was scored is kept: try fewer --workers"
        )

    def _connection(self) -> Connection:
        """This thread's process; started where there is none."""
        found: Connection | None = getattr(self._own, "connection", None)
        if found is None:
            spawn = get_context("spawn")
            found, theirs = spawn.Pipe()
            process = spawn.Process(target=_work, args=(theirs, self._threads), daemon=True)
            with self._lock:
                if self._closed:
                    raise EOFError
                process.start()
                self._started.append((process, found))
            theirs.close()  # so that the death of the process ends the conversation
            self._own.connection = found
            found.send(self._job)
        return found


def _work(connection: Connection, threads: int) -> None:
    """A worker's life: one job, then chunk after chunk until nobody asks any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends us
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # Before the job is read: that is what imports the libraries which look at it.
    own = os.environ.get(THREADS[0]) or str(threads)
    for name in THREADS:
        os.environ.setdefault(name, own)
    try:
        job: Job | None = None
        told = connection.recv()
        while True:
            work = connection.recv()
            try:
                if job is None:
                    told.prepare()
                    job = told
                reply: tuple[str, Any] = ("answer", told.do(work))
            except Exception as error:
                reply = ("error", ours(error))
            connection.send(reply)
    except (EOFError, OSError):
        return


def _end_with_parent() -> None:
    """A parent that was killed cannot end us; a chunk nobody waits for must not go on."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def ours(error: Exception) -> QuintetError:
    """An error that travels between processes; one that is no QuintetError is told in words."""
    if isinstance(error, QuintetError):
        return error
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{os.path.basename(last.filename)}:{last.lineno}"
    return QuintetError(f"internal error in a worker: {type(error).__name__}: {error} ({place})")


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
