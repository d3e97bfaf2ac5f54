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
from quintet.server.batching import Batcher, QueueFull
from quintet.server.settings import Limits

# F1: the queue in front of the scoring thread, with a scorer that takes its time


class Slow:
    """Scores at so many rows a second, with a checkpoint now and then, or none where it is deaf."""

    def __init__(self, seconds: float = 0.01, deaf: bool = False) -> None:
        self.seconds, self.deaf, self.batches = seconds, deaf, list[list[str]]()

    def __call__(self, choice: Hashable, examples: Sequence[Example]) -> tuple[object, list[str]]:
        self.batches.append([example.output for example in examples])
        for _ in examples:
            until = time.monotonic() + self.seconds
            while time.monotonic() < until:
                if not self.deaf:
                    checkpoint()
                time.sleep(0.002)
        return None, [example.output for example in examples]


def texts(name: str, count: int) -> list[Example]:
    return [Example(f"{name}{k}") for k in range(count)]


def rows(share: object) -> object:
    return share[1]  # type: ignore[index]


def test_f01_a_small_request_goes_in_between_the_parts_of_a_large_one() -> None:
    async def run() -> tuple[object, object, list[str]]:
        slow = Slow()
        batcher = Batcher(slow, Limits(batch_seconds=0.1), lambda *_: None)
        batcher.start()
        large = batcher.submit("a", texts("large", 60), rows)
        await asyncio.sleep(0.05)
        small = batcher.submit("b", texts("small", 1), rows)
        order = []
        for job, name in ((small, "small"), (large, "large")):
            job.answer.add_done_callback(lambda _, name=name: order.append(name))
        found = await asyncio.gather(large.answer, small.answer)
        assert batcher.queued_rows == 0
        batcher.stop(5)
        return found[0], found[1], order

    large, small, order = asyncio.run(run())
    assert large == [f"large{k}" for k in range(60)]
    assert small == ["small0"]
    assert order == ["small", "large"]


def test_f01_an_abandoned_request_is_given_up_and_the_next_is_served() -> None:
    async def run() -> None:
        slow = Slow(seconds=60)
        batcher = Batcher(slow, Limits(), lambda *_: None)
        batcher.start()
        heavy = batcher.submit("a", texts("heavy", 1), rows)
        await asyncio.sleep(0.1)
        heavy.abandoned.set()
        heavy.answer.cancel()
        slow.seconds = 0.0
        began = time.monotonic()
        assert await batcher.submit("a", texts("next", 1), rows).answer == ["next0"]
        assert time.monotonic() - began < 5
        batcher.stop(5)
        assert not batcher.alive

    asyncio.run(run())


def test_f01_stopping_tells_all_who_wait_even_where_the_thread_is_deaf() -> None:
    async def run() -> None:
        slow = Slow(seconds=20, deaf=True)
        batcher = Batcher(slow, Limits(request_seconds=0.2), lambda *_: None)
        batcher.start()
        jobs = [batcher.submit(name, texts(name, 2), rows) for name in ("a", "b")]
        assert not batcher.stuck
        await asyncio.sleep(0.5)
        assert batcher.stuck
        began = time.monotonic()
        await asyncio.to_thread(batcher.stop, 0.2)
        assert time.monotonic() - began < 3
        with pytest.raises(Stopped):
            await jobs[1].answer
        with pytest.raises(QueueFull):
            batcher.submit("c", texts("c", 1), rows)

    asyncio.run(run())


def test_f01_readiness_is_false_while_scoring_is_stuck() -> None:
    from quintet.server.app import Service
    from quintet.server.settings import Settings

    async def run() -> None:
        service = Service(Settings(limits=Limits(request_seconds=0.2)))
        service.warm = True
        service._batcher = Batcher(Slow(seconds=3, deaf=True), service.limits, lambda *_: None)
        service._batcher.start()
        assert (await service._ready(None)).status_code == 200  # type: ignore[arg-type]
        job = service._batcher.submit("a", texts("a", 1), rows)
        await asyncio.sleep(0.5)
        answer = await service._ready(None)  # type: ignore[arg-type]
        assert (answer.status_code, b"stuck" in bytes(answer.body)) == (503, True)
        await job.answer
        assert (await service._ready(None)).status_code == 200  # type: ignore[arg-type]
        service._batcher.stop(5)

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


def test_f01_a_heavy_request_whose_client_leaves_does_not_stop_the_others(running: ServiceProcess) -> None:
    heavy = json.dumps({"metrics": ["usr-mlm"], "examples": [{"output": "strange words " * 6000, "history": ["a"]}]})
    client = socket.create_connection(("127.0.0.1", running.port))
    client.sendall(request("/v1/score", heavy.encode(), f"Content-Length: {len(heavy)}\r\n"))
    time.sleep(2)
    client.close()
    began = time.monotonic()
    assert running.score(SMALL, seconds=30)[0] == 200
    assert time.monotonic() - began < 20


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


def test_f01_a_stop_ends_within_ten_seconds_whatever_runs() -> None:
    service = ServiceProcess()
    heavy = {"metrics": ["usr-mlm"], "examples": [{"output": "strange words " * 6000, "history": ["a"]}] * 40}
    answers = []
    thread = threading.Thread(target=lambda: answers.append(service.score(heavy, seconds=60)))
    thread.start()
    time.sleep(2)
    began = time.monotonic()
    service.process.send_signal(signal.SIGTERM)
    assert service.process.wait(20) == 0
    assert time.monotonic() - began < 12
    thread.join(5)
    assert answers[0][0] == 503
    assert answers[0][1]["error"]["code"] == "stopping"


def test_f04_bodies_that_drip_to_any_address_do_not_hold_their_connections(running: ServiceProcess) -> None:
    clients = []
    for path in ("/healthz", "/readyz", "/", "/metrics", "/nowhere"):
        client = socket.create_connection(("127.0.0.1", running.port))
        client.sendall(request(path, b"x", "Content-Length: 100000\r\n"))
        clients.append(client)
    until = time.monotonic() + 8
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
        until = time.monotonic() + 30
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
