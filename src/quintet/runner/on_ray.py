"""Scoring on a Ray cluster: `--engine ray[:ADDRESS]`. The only module that names Ray.

Chunks are Ray tasks. Ray runs them on whatever machines it has, and runs a task again when its worker or its node is
gone; models stay open in a worker process from task to task. The machine that started the run reads, keeps the store
and writes, in input order.
"""

from __future__ import annotations

import logging
import os
from typing import Any

from quintet.core.plain import Foreign
from quintet.errors import InputError, MissingExtra, QuintetError
from quintet.io.fetch import knock
from quintet.runner.executors import AHEAD, Answer, Job, Pending, Work, ours

RETRIES = 20
"""Times a chunk is begun anew after losing its worker; rows that kill every worker must not do so for ever."""
KNOCK_SECONDS = 10.0


class OnRay:
    """Scores as tasks of one core each, at most `workers` at a time (default: as many as the cluster has cores)."""

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        self._ray = _import_ray()
        # `--engine ray://HOST:PORT` is Ray's own way to write an address.
        self._address = f"ray:{address}" if (address or "").startswith("//") else address
        self._workers = workers

    @property
    def ahead(self) -> int:
        """Asked anew for every chunk: machines may join and leave."""
        cores = int(self._ray.cluster_resources().get("CPU", 1)) if self._workers is None else self._workers
        return AHEAD * max(1, cores)

    def start(self, job: Job) -> None:
        self._began = not self._ray.is_initialized()
        if self._began:
            _knock(self._address)
            try:
                self._ray.init(
                    address=self._address, num_cpus=None if self._address else self._workers, log_to_driver=False,
                    logging_level=logging.ERROR, include_dashboard=None if self._address else False,
                )  # fmt: skip
            except Exception as error:  # Ray raises many kinds, a bare Exception among them
                where = f"ray:{self._address}" if self._address else "ray"
                reason = (str(error).splitlines() or [type(error).__name__])[0]
                raise InputError(f"cannot reach the cluster ({reason})", where, "see ray status") from None
        self._job = self._ray.put(job)
        self._task = self._ray.remote(num_cpus=1, max_retries=RETRIES)(_score)

    def submit(self, work: Work) -> Pending:
        if not work:
            return list
        # The job goes as a reference inside a list, so that it is read after the threads are set.
        reference = self._task.remote([self._job], work)
        return lambda: self._wait(reference)

    def close(self) -> None:
        if getattr(self, "_began", False):
            self._ray.shutdown()

    def _wait(self, reference: object) -> Answer:
        try:
            kind, content = self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise QuintetError(f"the cluster could not score a chunk ({reason}); what was scored is kept") from None
        if kind == "error":
            raise content
        return list(content)


def _knock(address: str | None) -> None:
    """Ray itself takes minutes to say that nobody answers."""
    if address in (None, "auto", "local"):
        return
    where = f"ray:{address}"
    host, _, port = str(address).rpartition("//")[2].rpartition(":")
    if not host or not port.isdigit():
        raise InputError(f"cannot read the address {address!r}", where, "write ray:HOST:PORT")
    if problem := knock(host.strip("[]"), int(port), KNOCK_SECONDS):
        raise InputError(f"cannot reach the cluster ({problem})", where, "see ray status")


_prepared: set[bytes] = set()
"""Jobs that this worker process has opened the models of."""


def _score(job: list[Any], work: Work) -> tuple[str, Foreign]:
    """The task. An error of ours is an answer: Ray must not try it again."""
    os.environ.setdefault("QUINTET_THREADS", "1")
    told: Job = _import_ray().get(job[0])
    try:
        if job[0].binary() not in _prepared:
            told.prepare()
            _prepared.add(job[0].binary())
        return "answer", told.do(work)
    except Exception as error:
        return "error", ours(error)


def _import_ray() -> Foreign:
    # Ray reads it when imported; its own 20 tries keep a user waiting for a quarter of an hour where something else
    # than Ray listens.
    os.environ.setdefault("RAY_NUM_REDIS_GET_RETRIES", "2")
    # On a busy machine its own half minute is too short for its processes to start.
    os.environ.setdefault("RAY_raylet_start_wait_time_s", "180")
    os.environ.setdefault("RAY_agent_register_timeout_ms", "180000")
    try:
        import ray
    except ImportError:
        raise MissingExtra("ray", "ray", "--engine ray") from None
    return ray
