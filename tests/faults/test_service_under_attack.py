"""One client cannot stop the service for the others."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import threading
import time
from collections.abc import Hashable, Sequence
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the service needs the extra `serve`")
pytest.importorskip("uvicorn", reason="the service needs the extra `serve`")

from service_process import SMALL, ServiceProcess

from quintet.core.example import Example
from quintet.core.stopping import Stopped, checkpoint
from quintet.server.batching import Batcher, Job, QueueFull
from quintet.server.settings import Limits

# F1: the queue in front of the scoring thread, with a scorer that waits until it is let on and a clock that is set by
# hand: nothing here depends on how fast the machine is.

PATIENCE = 120.0
"""Seconds after which a test that hangs fails."""


class Held:
    """Scores nothing before it is let on; passes checkpoints meanwhile, or none where it is deaf."""

    def __init__(self, deaf: bool = False) -> None:
        self.deaf, self.begun, self.let_on = deaf, threading.Event(), threading.Event()

    def __call__(self, choice: Hashable, examples: Sequence[Example]) -> tuple[object, list[str]]:
        self.begun.set()
        while not self.let_on.wait(0.002):
            if not self.deaf:
                checkpoint()
        return None, [example.output for example in examples]

    async def has_begun(self) -> None:
        assert await asyncio.to_thread(self.begun.wait, PATIENCE)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def texts(name: str, count: int) -> list[Example]:
    return [Example(f"{name}{k}") for k in range(count)]


def rows(share: object) -> object:
    return share[1]  # type: ignore[index]


async def stopped(batcher: Batcher) -> None:
    await asyncio.to_thread(batcher.stop, PATIENCE)
    assert not batcher.alive


def test_f01_a_small_request_goes_in_between_the_parts_of_a_large_one() -> None:
    async def run() -> tuple[object, object, list[str]]:
        held = Held()
        batcher = Batcher(held, Limits(batch_seconds=0.1), lambda *_: None, Clock())
        batcher.start()
        large = batcher.submit("a", texts("large", 60), rows)
        await held.has_begun()
        small = batcher.submit("b", texts("small", 1), rows)
        order = []
        for job, name in ((small, "small"), (large, "large")):
            job.answer.add_done_callback(lambda _, name=name: order.append(name))
        held.let_on.set()
        found = await asyncio.gather(large.answer, small.answer)
        assert batcher.queued_rows == 0
        await stopped(batcher)
        return found[0], found[1], order

    large, small, order = asyncio.run(run())
    assert large == [f"large{k}" for k in range(60)]
    assert small == ["small0"]
    assert order == ["small", "large"]


def test_f01_an_abandoned_request_is_given_up_and_the_next_is_served() -> None:
    async def run() -> None:
        held = Held()
        batcher = Batcher(held, Limits(), lambda *_: None)
        batcher.start()
        heavy = batcher.submit("a", texts("heavy", 1), rows)
        await held.has_begun()
        held.begun.clear()
        heavy.abandoned.set()
        heavy.answer.cancel()
        following = batcher.submit("a", texts("next", 1), rows)
        await held.has_begun()  # the heavy one, which was never let on, has made way
        held.let_on.set()
        assert await following.answer == ["next0"]
        await stopped(batcher)

    asyncio.run(run())


def test_f01_stopping_tells_all_who_wait_even_where_the_thread_is_deaf() -> None:
    async def run() -> None:
        held = Held(deaf=True)
        batcher = Batcher(held, Limits(), lambda *_: None)
        batcher.start()
        jobs = [batcher.submit(name, texts(name, 2), rows) for name in ("a", "b")]
        await held.has_begun()
        await asyncio.to_thread(batcher.stop, 0.01)
        assert batcher.alive  # and yet
        for job in jobs:
            with pytest.raises(Stopped):
                await job.answer
        with pytest.raises(QueueFull):
            batcher.submit("c", texts("c", 1), rows)
        held.let_on.set()
        await stopped(batcher)

    asyncio.run(run())


def test_f01_readiness_is_false_while_scoring_is_stuck() -> None:
    from quintet.server.app import Service
    from quintet.server.settings import Settings

    async def run() -> None:
        service, held, clock = Service(Settings()), Held(deaf=True), Clock()
        service.warm = True
        batcher = service._batcher = Batcher(held, service.limits, lambda *_: None, clock)
        batcher.start()

        async def ready() -> tuple[int, bytes]:
            answer = await service._ready(None)  # type: ignore[arg-type]
            return answer.status_code, bytes(answer.body)

        assert (await ready())[0] == 200
        job = batcher.submit("a", texts("a", 1), rows)
        await held.has_begun()
        assert (await ready())[0] == 200
        clock.now = service.limits.request_seconds + 1
        status, body = await ready()
        assert (status, b"stuck" in body) == (503, True)
        held.let_on.set()
        await job.answer
        assert (await ready())[0] == 200  # at once: an answer means that nothing is stuck
        await stopped(batcher)

    asyncio.run(run())


@pytest.mark.parametrize("together", [False, True])
def test_f01_an_answer_comes_after_its_batch_is_over(together: bool) -> None:
    """Also of two that share a batch, and where putting one answer into words fails."""

    async def run() -> None:
        held, clock = Held(), Clock()
        seen = list[bool]()

        class Watched(Batcher):
            def _tell(self, job: Job, value: object, error: Exception | None) -> None:  # type: ignore[override]
                seen.append(self.stuck)
                Batcher._tell(job, value, error)

        def broken(share: object) -> object:
            raise ValueError("no words")

        batcher = Watched(held, Limits(linger_seconds=60.0, batch_rows=2), lambda *_: None, clock)
        batcher.start()
        first = batcher.submit("a", texts("a", 1), broken if together else rows)
        second = batcher.submit("a", texts("b", 1), rows)
        await held.has_begun()
        clock.now = 1e6
        held.let_on.set()
        one, two = await asyncio.gather(first.answer, second.answer, return_exceptions=True)
        assert two == ["b0"]
        assert isinstance(one, ValueError) if together else one == ["a0"]
        assert seen == [False, False]
        await stopped(batcher)

    asyncio.run(run())


# F1 and F4: a real service


@pytest.fixture(scope="module")
def running() -> ServiceProcess:
    service = ServiceProcess("--timeout", "30")
    yield service
    assert service.stop() == 0


def request(path: str, body: bytes, head: str = "") -> bytes:
    lines = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{head}"
    return lines.encode() + b"\r\n" + body


HEAVY = {"metrics": ["usr-mlm"], "examples": [{"output": "strange words " * 6000, "history": ["a"]}] * 40}
"""Half a million passes of a model: hours."""


def test_f01_a_heavy_request_whose_client_leaves_does_not_stop_the_others(running: ServiceProcess) -> None:
    heavy = json.dumps(HEAVY)
    client = socket.create_connection(("127.0.0.1", running.port))
    client.sendall(request("/v1/score", heavy.encode(), f"Content-Length: {len(heavy)}\r\n"))
    running.wait_until_in_flight(1)
    client.close()
    assert running.score(SMALL, seconds=PATIENCE)[0] == 200


def test_f01_too_much_work_is_refused_before_it_begins() -> None:
    service = ServiceProcess("--max-work", "50000")
    try:
        body = {"metrics": ["usr-mlm"], "examples": [{"output": "strange words " * 6000, "history": ["a"]}]}
        status, answer, _ = service.score(body)
        assert (status, answer["error"]["code"]) == (413, "too_much_work")
        assert "--max-work" in answer["error"]["message"]
        assert service.score(SMALL)[0] == 200
    finally:
        assert service.stop() == 0


def test_f01_a_stop_ends_soon_whatever_runs() -> None:
    """Ten seconds are what it is given; what is checked is that it is not the hours of the work."""
    assert Limits().stop_seconds <= 10
    service = ServiceProcess()
    answers = []
    thread = threading.Thread(target=lambda: answers.append(service.score(HEAVY, seconds=PATIENCE)))
    thread.start()
    service.wait_until_in_flight(1)
    assert service.stop(PATIENCE) == 0
    thread.join(PATIENCE)
    assert answers[0][0] == 503
    assert answers[0][1]["error"]["code"] == "stopping"


def test_f04_bodies_that_drip_to_any_address_do_not_hold_their_connections(running: ServiceProcess) -> None:
    clients = []
    for path in ("/healthz", "/readyz", "/", "/metrics", "/nowhere"):
        client = socket.create_connection(("127.0.0.1", running.port))
        client.sendall(request(path, b"x", "Content-Length: 100000\r\n"))
        clients.append(client)
    until = time.monotonic() + PATIENCE
    held = set(clients)
    while held and time.monotonic() < until:
        for client in list(held):
            try:
                client.sendall(b"x")
                client.settimeout(0.05)
                if client.recv(65536) == b"" and client.send(b"x") == 0:
                    held.discard(client)
            except TimeoutError:
                continue
            except OSError:
                held.discard(client)
        time.sleep(0.2)
    assert not held


def test_f04_a_full_house_lets_a_new_client_in() -> None:
    from quintet.server.protocol import PatientProtocol

    service = ServiceProcess()
    silent = []
    try:
        for _ in range(Limits().connections + 40):
            client = socket.create_connection(("127.0.0.1", service.port))
            client.sendall(request("/healthz", b"x", "Content-Length: 100000\r\n"))
            silent.append(client)
        assert service.ask("GET", "/healthz")[0] == 200
        assert service.score(SMALL)[0] == 200
    finally:
        for client in silent:
            client.close()
        assert service.stop() == 0
    assert PatientProtocol.limits.parting_seconds < 10


def test_a_body_that_is_too_large_is_answered_and_not_reset(running: ServiceProcess) -> None:
    status, answer, _ = running.ask("POST", "/v1/score", b"x" * (6 * 2**20))
    assert (status, answer["error"]["code"]) == (413, "too_large")


# SIGHUP


def test_settings_are_read_again_at_sighup_and_faults_in_them_change_nothing(tmp_path: Path) -> None:
    limits, token = tmp_path / "limits.toml", tmp_path / "token"
    limits.write_text("characters = 1000\n")
    token.write_text("a-first-token-of-length\n")
    service = ServiceProcess("--limits", str(limits), "--token-file", str(token), token="a-first-token-of-length")
    long = {"metrics": ["response-length"], "examples": [{"output": "x" * 2000}]}

    def reload(limit: str, secret: str, event: str) -> None:
        limits.write_text(limit)
        token.write_text(secret)
        before = len(service.lines)
        service.process.send_signal(signal.SIGHUP)
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and not any(line["event"] == event for line in service.lines[before:]):
            time.sleep(0.05)
        assert any(line["event"] == event for line in service.lines[before:])

    try:
        assert service.score(long)[0] == 413
        reload("characters = 3000\n", "another-token-of-length\n", "reloaded")
        assert service.score(long)[0] == 401
        service.token = "another-token-of-length"
        assert service.score(long)[0] == 200
        for wrong in ("characters = 'a'\n", "nothing = 1\n", "characters = -1\n", "x = [\n"):
            reload(wrong, "another-token-of-length\n", "not reloaded")
            assert service.score(long)[0] == 200
        assert not any("token-of-length" in line for line in service.raw)
    finally:
        assert service.stop() == 0
