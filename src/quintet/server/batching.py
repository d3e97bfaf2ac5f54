"""Requests that arrive together share batches: a queue in front of the one thread that scores."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

from quintet.core.example import Example
from quintet.server.settings import Limits

Finish = Callable[[object], object]
KNOWN_CHOICES = 1024


@dataclass(eq=False)
class Job:
    choice: Hashable
    examples: Sequence[Example]
    finish: Finish
    """Turns the job's share of a batch into its answer, still in the scoring thread."""
    loop: asyncio.AbstractEventLoop
    answer: asyncio.Future[object]
    abandoned: threading.Event = field(default_factory=threading.Event)
    """Set when nobody waits any more: work not yet begun is not done."""


class QueueFull(Exception):
    def __init__(self, seconds: int) -> None:
        super().__init__("the queue is full")
        self.seconds = seconds


ScoreBatch = Callable[[Hashable, Sequence[Example]], tuple[object, Sequence[object]]]
"""Choice and examples to what all share (the plan) and one entry per example."""


class Batcher:
    def __init__(self, score: ScoreBatch, limits: Limits, on_batch: Callable[[int, int], None]) -> None:
        self._score, self._limits, self._on_batch = score, limits, on_batch
        self._queue: deque[Job] = deque()
        self._changed = threading.Condition()
        self._rows = 0
        self._stopping = False
        self._seconds_per_row = 0.01
        self._known: set[Hashable] = set()
        self._thread = threading.Thread(target=self._work, name="quintet-scoring", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Finishes what is queued, then ends the thread."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        self._thread.join()

    @property
    def queued_rows(self) -> int:
        return self._rows

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def submit(self, choice: Hashable, examples: Sequence[Example], finish: Finish) -> Job:
        """Called in the event loop. An empty queue takes any request, a fuller one only what fits and can be answered
        before it is due."""
        loop = asyncio.get_running_loop()
        job = Job(choice, examples, finish, loop, loop.create_future())
        with self._changed:
            wait = self._rows * self._seconds_per_row
            too_many = self._rows + len(examples) > self._limits.queue_rows
            if self._rows and (too_many or wait > self._limits.request_seconds):
                raise QueueFull(min(60, math.ceil(wait)))
            self._queue.append(job)
            self._rows += len(examples)
            self._changed.notify_all()
        return job

    def _work(self) -> None:
        while True:
            batch = self._take()
            if batch is None:
                return
            began = time.monotonic()
            rows = sum(len(job.examples) for job in batch)
            self._answer(batch)
            spent = (time.monotonic() - began) / max(1, rows)
            if batch[0].choice in self._known:  # the first of a kind opens models, which says nothing of the next
                self._seconds_per_row += 0.2 * (spent - self._seconds_per_row)
            elif len(self._known) >= KNOWN_CHOICES:
                self._known.clear()
            self._known.add(batch[0].choice)

    def _take(self) -> list[Job] | None:
        """The oldest job and those behind it that want the same, after a short wait for company."""
        with self._changed:
            while not self._queue:
                if self._stopping:
                    return None
                self._changed.wait()
            until = time.monotonic() + self._limits.linger_seconds
            while self._rows < self._limits.batch_rows and not self._stopping:
                if not self._changed.wait(max(0.0, until - time.monotonic())):
                    break
            first = self._queue[0]
            most = max(1, min(self._limits.batch_rows, int(self._limits.batch_seconds / self._seconds_per_row)))
            batch: list[Job] = []
            rest: deque[Job] = deque()
            rows = 0
            for job in self._queue:
                fits = not batch or rows + len(job.examples) <= most
                if job.choice == first.choice and fits:
                    batch.append(job)
                    rows += len(job.examples)
                else:
                    rest.append(job)
            self._queue = rest
            self._rows -= rows
            return batch

    def _answer(self, batch: Sequence[Job]) -> None:
        wanted = [job for job in batch if not job.abandoned.is_set()]
        if not wanted:
            return
        try:
            shared, found = self._score(wanted[0].choice, [e for job in wanted for e in job.examples])
            self._on_batch(len(wanted), len(found))  # before anyone is told: who has an answer finds it counted
            done = 0
            for job in wanted:
                share = (shared, found[done : done + len(job.examples)])
                done += len(job.examples)
                self._tell(job, job.finish(share), None)
        except Exception as error:
            if len(wanted) == 1:
                self._tell(wanted[0], None, error)
                return
            # One request must not spoil the others that happened to share its batch.
            for job in wanted:
                if not job.answer.done():
                    self._answer([job])

    @staticmethod
    def _tell(job: Job, value: object, error: Exception | None) -> None:
        def settle() -> None:
            if job.answer.done():
                return
            if error is not None:
                job.answer.set_exception(error)
            else:
                job.answer.set_result(value)

        try:
            job.loop.call_soon_threadsafe(settle)
        except RuntimeError:  # the loop was closed by force; nobody waits
            return
