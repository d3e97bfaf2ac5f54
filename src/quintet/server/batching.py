"""Requests that arrive together share batches: a queue in front of the one thread that scores.

No request has the thread to itself: one of many rows is scored in parts, with others in between, and one that nobody
waits for is given up at the next checkpoint.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field

from quintet.core.example import Example
from quintet.core.stopping import Stopped, stopping_when
from quintet.server.settings import Limits

Finish = Callable[[object], object]
KNOWN_CHOICES = 1024


@dataclass(eq=False)
class Job:
    choice: Hashable
    examples: Sequence[Example]
    finish: Finish
    """Turns the job's answers into what is sent, still in the scoring thread."""
    loop: asyncio.AbstractEventLoop
    answer: asyncio.Future[object]
    abandoned: threading.Event = field(default_factory=threading.Event)
    """Set when nobody waits any more: work not yet done is not done."""
    found: list[object] = field(default_factory=list)
    """What has been scored of it, in order."""
    waiting: int = 0
    """Examples that are counted as queued."""
    over: bool = False
    """Answered, or given up."""

    @property
    def left(self) -> int:
        return len(self.examples) - len(self.found)


Part = tuple[Job, int]
"""A job and how many of its examples are scored now."""


class QueueFull(Exception):
    def __init__(self, seconds: int) -> None:
        super().__init__("the queue is full")
        self.seconds = seconds


ScoreBatch = Callable[[Hashable, Sequence[Example]], tuple[object, Sequence[object]]]
"""Choice and examples to what all share (the plan) and one entry per example."""


class Batcher:
    def __init__(
        self,
        score: ScoreBatch,
        limits: Limits,
        on_batch: Callable[[int, int], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._score, self.limits, self._on_batch, self._clock = score, limits, on_batch, clock
        self._queue: deque[Job] = deque()
        self._changed = threading.Condition()
        self._rows = 0
        self._under_way: Sequence[Job] = ()
        self._stopping = False
        self._given_up = False
        self._began: float | None = None
        """When the batch that is being scored was begun."""
        self._seconds_per_row = 0.01
        self._known: set[Hashable] = set()
        self._thread = threading.Thread(target=self._work, name="quintet-scoring", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, seconds: float) -> None:
        """Finishes what is queued, then ends the thread; what takes longer than `seconds` is given up."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        self._thread.join(seconds)
        if self._thread.is_alive():
            self.give_up()
            self._thread.join(1.0)

    def give_up(self) -> None:
        """What runs stops at its next checkpoint; all who wait are told now, however far away that is."""
        with self._changed:
            self._given_up = True
            waiting = [*self._under_way, *self._queue]
            self._queue.clear()
            self._rows = 0
            self._changed.notify_all()
        for job in waiting:
            self._tell(job, None, Stopped())

    @property
    def queued_rows(self) -> int:
        return self._rows

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    @property
    def stuck(self) -> bool:
        """Whether one batch has taken longer than any request may."""
        began = self._began
        return began is not None and self._clock() - began > self.limits.request_seconds

    def submit(self, choice: Hashable, examples: Sequence[Example], finish: Finish) -> Job:
        """Called in the event loop. An empty queue takes any request, a fuller one only what fits and can be answered
        before it is due."""
        loop = asyncio.get_running_loop()
        job = Job(choice, examples, finish, loop, loop.create_future())
        with self._changed:
            wait = self._rows * self._seconds_per_row
            too_many = self._rows + len(examples) > self.limits.queue_rows
            if self._given_up or (self._rows and (too_many or wait > self.limits.request_seconds)):
                raise QueueFull(min(60, math.ceil(wait)))
            self._queue.append(job)
            job.waiting = len(examples)
            self._rows += job.waiting
            self._changed.notify_all()
        return job

    def _work(self) -> None:
        while True:
            batch = self._take()
            if batch is None:
                return
            if not batch:
                continue
            began = self._clock()
            choice = batch[0][0].choice
            rows = sum(count for _, count in batch)
            self._answer(batch)
            self._put_back(job for job, _ in batch)
            spent = (self._clock() - began) / max(1, rows)
            if choice in self._known:  # the first of a kind opens models, which says nothing of the next
                self._seconds_per_row += 0.2 * (spent - self._seconds_per_row)
            elif len(self._known) >= KNOWN_CHOICES:
                self._known.clear()
            self._known.add(choice)

    def _take(self) -> list[Part] | None:
        """The oldest job and those behind it that want the same, after a short wait for company; of a long one only so
        many examples as a batch may hold."""
        with self._changed:
            while not self._queue:
                if self._stopping or self._given_up:
                    return None
                self._changed.wait()
            until = self._clock() + self.limits.linger_seconds
            while self._rows < self.limits.batch_rows and not self._stopping:
                if not self._changed.wait(max(0.0, until - self._clock())):
                    break
            if not self._queue:
                return []
            first = self._queue[0]
            most = max(1, min(self.limits.batch_rows, int(self.limits.batch_seconds / self._seconds_per_row)))
            batch: list[Part] = [(first, min(first.left, most))]
            rest: deque[Job] = deque()
            rows = batch[0][1]
            for job in list(self._queue)[1:]:
                if job.choice == first.choice and rows + job.left <= most:
                    batch.append((job, job.left))
                    rows += job.left
                else:
                    rest.append(job)
            self._queue = rest
            self._rows -= rows
            for job, count in batch:
                job.waiting -= count
            self._under_way = [job for job, _ in batch]
            return batch

    def _put_back(self, jobs: Iterable[Job]) -> None:
        """What is not yet whole goes on behind those who came meanwhile."""
        with self._changed:
            self._under_way = ()
        for job in jobs:
            with self._changed:
                if job.left and not job.over and not job.abandoned.is_set() and not self._given_up:
                    self._queue.append(job)
                    continue
                self._rows = max(0, self._rows - job.waiting)
                job.waiting = 0
            if job.left and not job.over:
                self._tell(job, None, Stopped())

    def _answer(self, batch: Sequence[Part]) -> None:
        wanted = [(job, count) for job, count in batch if not job.abandoned.is_set()]
        if not wanted:
            return

        def nobody_waits() -> bool:
            return self._given_up or all(job.abandoned.is_set() for job, _ in wanted)

        self._began = self._clock()
        try:
            examples = [e for job, count in wanted for e in job.examples[len(job.found) : len(job.found) + count]]
            with stopping_when(nobody_waits):
                shared, found = self._score(wanted[0][0].choice, examples)
            self._on_batch(len(wanted), len(found))
            done = 0
            for job, count in wanted:
                job.found += found[done : done + count]
                done += count
            answers = [(job, *self._finished(job, shared)) for job, _ in wanted if not job.left]
        except Exception as error:
            if len(wanted) == 1 or isinstance(error, Stopped):
                answers = [(job, None, error) for job, _ in wanted]
            else:
                # One request must not spoil the others that happened to share its batch.
                for part in wanted:
                    self._answer([part])
                return
        finally:
            self._began = None
        # Told last: who has an answer finds it counted, and the service no longer stuck.
        for job, value, fault in answers:
            self._tell(job, value, fault)

    @staticmethod
    def _finished(job: Job, shared: object) -> tuple[object, Exception | None]:
        try:
            return job.finish((shared, job.found)), None
        except Exception as error:
            return None, error

    @staticmethod
    def _tell(job: Job, value: object, error: Exception | None) -> None:
        job.over = True

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
