"""Many, slow, silent and sudden clients. All on loopback, all bounded."""

from __future__ import annotations

import json
import re
import signal
import socket
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from service_process import REPEATS, SMALL, ServiceProcess

import quintet

PATIENCE = 120.0
"""Seconds after which a test that hangs fails; nothing here asks how fast the machine is."""


def raw_request(body: bytes = b"", head: str = "") -> bytes:
    lines = f"POST /v1/score HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{head}"
    return lines.encode() + b"\r\n" + body


def test_two_hundred_at_once(service: ServiceProcess) -> None:
    """No error but 429, batches are shared, memory stays flat."""

    want = quintet.score(SMALL["examples"], metrics=SMALL["metrics"], cache=False)["gruen-redundancy"][0]

    def one(_: int) -> tuple[int, float]:
        status, answer, headers = service.score(SMALL, seconds=PATIENCE)
        if status == 429:
            assert int(headers["retry-after"]) >= 1
            return status, 0.0
        return status, answer["rows"][0]["scores"]["gruen-redundancy"]["value"]

    def wave() -> Counter[int]:
        with ThreadPoolExecutor(200) as pool:
            found = list(pool.map(one, range(400)))
        assert {value for status, value in found if status == 200} == {want}
        return Counter(status for status, _ in found)

    assert set(wave()) <= {200, 429}
    wave()
    before = service.resident_megabytes()
    total = wave() + wave() + wave()
    assert set(total) <= {200, 429}
    assert total[200] > 600
    assert service.resident_megabytes() - before < 20
    text = service.ask("GET", "/metrics")[1]
    requests = float(re.search(r"quintet_batch_requests_sum (\S+)", text)[1])  # type: ignore[index]
    batches = float(re.search(r"quintet_batch_requests_count (\S+)", text)[1])  # type: ignore[index]
    assert requests / batches > 2


def test_a_full_house_says_when_to_come_back() -> None:
    running = ServiceProcess("--max-concurrent", "2", "--body-timeout", "100")
    body = json.dumps(SMALL).encode()
    try:
        slow = [socket.create_connection(("127.0.0.1", running.port)) for _ in range(2)]
        for client in slow:
            client.sendall(raw_request(body[:10], f"Content-Length: {len(body)}\r\n"))
        running.wait_until_in_flight(2)
        status, _, headers = running.score(SMALL)
        assert status == 429
        assert int(headers["retry-after"]) >= 1
        for client in slow:
            client.settimeout(PATIENCE)
            client.sendall(body[10:])
            assert client.recv(4096).startswith(b"HTTP/1.1 200")
            client.close()
        running.wait_until_in_flight(0)
        assert running.score(SMALL)[0] == 200
    finally:
        assert running.stop() == 0


def test_slow_half_open_and_vanishing_clients_do_not_hold_others_up(service: ServiceProcess) -> None:
    silent = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(20)]
    half = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(20)]
    for client in half:
        client.sendall(b"POST /v1/score HTTP/1.1\r\nHost: local")
    body = json.dumps(SMALL).encode()
    slow = socket.create_connection(("127.0.0.1", service.port))
    slow.sendall(raw_request(body[:10], f"Content-Length: {len(body)}\r\n"))
    for _ in range(20):
        gone = socket.create_connection(("127.0.0.1", service.port))
        gone.sendall(raw_request(body, f"Content-Length: {len(body)}\r\n"))
        gone.close()
    assert service.score(SMALL)[0] == 200
    slow.settimeout(PATIENCE)
    assert slow.recv(4096).startswith(b"HTTP/1.1 408")
    for client in (*silent, *half):
        client.settimeout(PATIENCE)
        assert client.recv(100) == b""
        client.close()
    assert not [line for line in service.lines if line.get("status") == 500]


def test_chunked_bodies_are_counted_as_they_come(service: ServiceProcess) -> None:
    client = socket.create_connection(("127.0.0.1", service.port))
    client.settimeout(PATIENCE)
    client.sendall(raw_request(head="Transfer-Encoding: chunked\r\n"))
    piece = b"%x\r\n" % 60_000 + b" " * 60_000 + b"\r\n"
    answer = b""
    try:
        for _ in range(10):
            client.sendall(piece)
        answer = client.recv(4096)
    except ConnectionError:
        answer = answer or client.recv(4096)
    assert answer.startswith(b"HTTP/1.1 413")
    client.close()


def test_garbage_is_refused(service: ServiceProcess) -> None:
    for garbage in (
        b"\x16\x03\x01\x02\x00",
        b"GET\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"A" * 70_000,
    ):
        client = socket.create_connection(("127.0.0.1", service.port))
        client.settimeout(PATIENCE)
        client.sendall(garbage)
        client.shutdown(socket.SHUT_WR)
        try:
            answer = client.recv(200)
        except ConnectionError:
            answer = b""
        assert answer == b"" or re.match(rb"HTTP/1.1 4\d\d", answer)
        client.close()
    assert service.score(SMALL)[0] == 200


def test_one_poisoned_request_spares_the_others_in_its_batch() -> None:
    import asyncio
    from collections.abc import Sequence

    from quintet.core.example import Example
    from quintet.server.batching import Batcher
    from quintet.server.settings import Limits

    def score(_: object, examples: Sequence[Example]) -> tuple[object, list[str]]:
        if any(e.output == "poison" for e in examples):
            raise ValueError("poison")
        return None, [e.output.upper() for e in examples]

    async def run() -> list[object]:
        batcher = Batcher(score, Limits(linger_seconds=0.1), lambda *_: None)
        batcher.start()
        jobs = [batcher.submit("same", [Example(text)], lambda share: share) for text in ("a", "poison", "b")]
        answers = await asyncio.gather(*(job.answer for job in jobs), return_exceptions=True)
        await asyncio.to_thread(batcher.stop, 5.0)
        return list(answers)

    first, second, third = asyncio.run(run())
    assert (first, third) == ((None, ["A"]), (None, ["B"]))
    assert isinstance(second, ValueError)


def test_who_has_an_answer_finds_it_counted() -> None:
    import asyncio
    from collections.abc import Sequence

    from quintet.core.example import Example
    from quintet.server.batching import Batcher
    from quintet.server.settings import Limits

    counted: list[tuple[int, int]] = []

    def score(_: object, examples: Sequence[Example]) -> tuple[object, list[str]]:
        if any(e.output == "poison" for e in examples):
            raise ValueError("poison")
        return None, [e.output for e in examples]

    def count(requests: int, rows: int) -> None:
        time.sleep(0.05)  # an answer that did not wait for its count would be there first
        counted.append((requests, rows))

    async def run() -> None:
        batcher = Batcher(score, Limits(linger_seconds=0.0), count)
        batcher.start()
        await batcher.submit("same", [Example("a"), Example("b")], lambda share: share).answer
        assert counted == [(1, 2)]
        with pytest.raises(ValueError, match="poison"):
            await batcher.submit("same", [Example("poison")], lambda share: share).answer
        assert counted == [(1, 2)]  # what was not scored is not counted as scored
        await asyncio.to_thread(batcher.stop, 5.0)

    asyncio.run(run())


def test_what_could_not_be_answered_in_time_is_not_let_in_and_batches_stay_short() -> None:
    import asyncio
    from collections.abc import Sequence

    from quintet.core.example import Example
    from quintet.server.batching import Batcher, QueueFull
    from quintet.server.settings import Limits

    sizes: list[int] = []
    now, let_on = [0.0], threading.Event()
    let_on.set()

    def score(_: object, examples: Sequence[Example]) -> tuple[object, list[str]]:
        assert let_on.wait(PATIENCE)
        sizes.append(len(examples))
        now[0] += 0.05 * len(examples)
        return None, [e.output for e in examples]

    async def run() -> tuple[int, list[int]]:
        limits = Limits(linger_seconds=0.01, request_seconds=1.0, batch_seconds=0.2)
        batcher = Batcher(score, limits, lambda *_: None, lambda: now[0])
        batcher.start()
        for _ in range(12):  # until it knows how long a row takes
            await batcher.submit("same", [Example("a")], lambda share: share).answer
        sizes.clear()
        let_on.clear()
        jobs, waits = [], []
        for _ in range(60):
            try:
                jobs.append(batcher.submit("same", [Example("a")], lambda share: share))
            except QueueFull as full:
                waits.append(full.seconds)
        let_on.set()
        await asyncio.gather(*(job.answer for job in jobs))
        await asyncio.to_thread(batcher.stop, PATIENCE)
        return len(jobs), waits

    taken, waits = asyncio.run(run())
    assert 21 <= taken <= 27  # a second's worth in the queue, and perhaps a batch that has left it
    assert len(waits) == 60 - taken
    assert set(waits) <= {1, 2}
    assert max(sizes) <= 5


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_under_load_loses_no_accepted_request(number: signal.Signals, tmp_path: Path) -> None:
    patient = tmp_path / "limits.toml"
    patient.write_text("stop_seconds = 100\n")  # what is not done by then would be told 503
    running = ServiceProcess("--limits", str(patient))
    work = json.dumps({"metrics": ["gruen-redundancy"], "examples": [{"output": f"{REPEATS} " * 12}] * 2})
    results: Counter[str] = Counter()
    lock = threading.Lock()

    def client() -> None:
        while True:
            try:
                status = running.score(work)[0]
                kind = str(status)
            except OSError as error:
                kind = "lost: no answer" if isinstance(error, TimeoutError) else "not let in"
            except Exception as error:  # an answer that broke off: what must not happen
                kind = f"lost: {type(error).__name__}"
            with lock:
                results[kind] += 1
            if kind == "not let in":
                return

    threads = [threading.Thread(target=client) for _ in range(40)]
    for thread in threads:
        thread.start()
    until = time.monotonic() + PATIENCE
    while results["200"] <= 20 and time.monotonic() < until:
        time.sleep(0.01)
    running.process.send_signal(number)
    for thread in threads:
        thread.join(PATIENCE)
    assert running.stop() == 0
    done = [line for line in running.lines if line["event"] == "request" and line["route"] == "/v1/score"]
    assert not [kind for kind in results if kind.startswith("lost")]
    assert results["200"] > 20
    assert sum(line["status"] == 200 for line in done) == results["200"]
    assert {line["status"] for line in done} <= {200, 429}
    assert running.lines[-1]["event"] == "stopped"
