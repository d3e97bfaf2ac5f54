"""The service under many clients of every kind for a while: wrong answers, latencies, refusals, growth of memory.

    python benchmarks/soak.py [--seconds 1800] [--clients 200] [--kills 5] [--metric gruen-redundancy] [--seed 0]

Most clients ask for scores that are known beforehand and wait for them. Others leave before the answer, send their
body byte by byte, send too much, or ask for many rows at once. SIGHUP changes the limits back and forth, so that
saturation is met with 429 in between. `--kills` ends the process with SIGKILL so many times; it is started again
on the same port, as a supervisor would, and memory is measured anew.
Ends with status 1 where an answer was wrong, a 429 had no Retry-After, a status was none of those that are meant, or
memory grew by more than 5 % after the first fifth of a process's life.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import random
import signal
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "doors" / "server"))

from made_up import items
from service_process import ServiceProcess

import quintet

KINDS = ("ask",) * 14 + ("many rows", "leave", "leave", "drip", "too large", "nonsense")
MEANT = {
    "ask": {200, 429},
    "many rows": {200, 429},
    "drip": {200, 429},
    "too large": {413, 429},
    "nonsense": {422, 429},
}
GROWTH = 1.05


@dataclass
class Seen:
    """What all clients saw."""

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    without_retry: int = 0
    cut_off: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


class Soak:
    def __init__(self, metric: str, clients: int, seed: int) -> None:
        self.metric, self.clients, self.seed = metric, clients, seed
        texts = [item.example.output for item in items(40, 1, 6, seed) if item.example is not None]
        sources = [item.example.source for item in items(40, 1, 6, seed) if item.example is not None]
        self.rows = [{"output": o, "source": s} for o, s in zip(texts, sources, strict=True)]
        self.known: list[float] = quintet.score(self.rows, metrics=metric, cache=False)[metric]
        self.seen, self.over = Seen(), threading.Event()
        self.folder = tempfile.TemporaryDirectory()
        self.limits = Path(self.folder.name) / "limits.toml"
        self.service = self.start(0)
        self.memory: list[list[tuple[float, float]]] = [[]]
        """For each process: seconds since it started and its resident MB."""

    def start(self, port: int) -> ServiceProcess:
        self.limits.write_text(f"concurrent = {max(1, self.clients * 2)}\n")
        more = ("--port", str(port)) if port else ()
        return ServiceProcess("--limits", str(self.limits), *more)

    # One visit of a client of each kind

    def visit(self, kind: str, draw: random.Random) -> None:
        if kind == "leave":
            with socket.create_connection(("127.0.0.1", self.service.port), timeout=30) as client:
                body = json.dumps(self.request([draw.randrange(len(self.rows)) for _ in range(64)])).encode()
                client.sendall(head(len(body)) + body[: draw.choice([len(body), len(body) // 2])])
                time.sleep(draw.random() * 0.2)
            return
        count = {"many rows": 200, "drip": 1}.get(kind, draw.randint(1, 4))
        chosen = [draw.randrange(len(self.rows)) for _ in range(count)]
        request: Any = self.request(chosen)
        if kind == "nonsense":
            request = draw.choice([{}, {"metrics": ["none"], "examples": []}, {"task": 5, "examples": [{"output": 1}]}])
        body = json.dumps(request).encode()
        if kind == "too large":
            body = b" " * (5 * 2**20)
        began = time.monotonic()
        status, answer, retry = self.ask(body, draw, drip=kind == "drip")
        with self.seen.lock:
            self.seen.statuses[kind, status] += 1
            self.seen.without_retry += status == 429 and not retry
            if status not in MEANT[kind]:
                self.seen.wrong.append(f"{kind}: {status} {answer[:200]!r}")
            if status == 200 and kind == "ask":
                self.seen.seconds.append(time.monotonic() - began)
        if status == 200:
            self.check(chosen, json.loads(answer))

    def request(self, chosen: list[int]) -> dict[str, Any]:
        rows = [{**self.rows[k], "id": str(place)} for place, k in enumerate(chosen)]
        return {"metrics": [self.metric], "examples": rows}

    def check(self, chosen: list[int], answer: dict[str, Any]) -> None:
        found = [(row["id"], row["scores"][self.metric]["value"]) for row in answer["rows"]]
        wanted = [(str(place), self.known[k]) for place, k in enumerate(chosen)]
        if [one[0] for one in found] != [one[0] for one in wanted] or any(
            abs(a[1] - b[1]) > 1e-6 for a, b in zip(found, wanted, strict=True)
        ):
            with self.seen.lock:
                self.seen.wrong.append(f"{wanted} came back as {found}"[:300])

    def ask(self, body: bytes, draw: random.Random, drip: bool = False) -> tuple[int, bytes, str | None]:
        with socket.create_connection(("127.0.0.1", self.service.port), timeout=120) as client:
            client.sendall(head(len(body)))
            if drip:
                step = max(1, len(body) // 20)
                for at in range(0, len(body), step):
                    client.sendall(body[at : at + step])
                    time.sleep(draw.random() * 0.1)
            else:
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # refused before all was sent
                    client.sendall(body)
            answer = http.client.HTTPResponse(client)
            answer.begin()
            return answer.status, answer.read(), answer.headers.get("Retry-After")

    # Everything around

    def client(self, number: int) -> None:
        draw = random.Random(self.seed * 1000 + number)
        while not self.over.is_set():
            try:
                self.visit(draw.choice(KINDS), draw)
            except (OSError, http.client.HTTPException):
                with self.seen.lock:
                    self.seen.cut_off += 1
                time.sleep(0.2)
            self.over.wait(draw.random() * 0.2)

    def run(self, seconds: float, kills: int) -> None:
        threads = [threading.Thread(target=self.client, args=(k,), daemon=True) for k in range(self.clients)]
        for thread in threads:
            thread.start()
        began = born = time.monotonic()
        deaths = [began + seconds * (k + 1) / (kills + 1) for k in range(kills)]
        tight = False
        while time.monotonic() < began + seconds:
            time.sleep(min(2.0, seconds / 50))
            self.memory[-1].append((time.monotonic() - born, resident(self.service.process.pid)))
            if deaths and time.monotonic() > deaths[0]:
                deaths.pop(0)
                self.service.process.kill()
                self.service.process.wait()
                self.service, born = self.start(self.service.port), time.monotonic()
                self.memory.append([])
                continue
            tight = not tight
            self.limits.write_text(f"concurrent = {max(1, self.clients // 4) if tight else self.clients * 2}\n")
            self.service.process.send_signal(signal.SIGHUP)
        self.over.set()
        for thread in threads:
            thread.join(130)

    def report(self) -> bool:
        seen, times = self.seen, sorted(self.seen.seconds)
        for (kind, status), count in sorted(seen.statuses.items()):
            print(f"{kind:12} {status} {count:8,}")
        print(f"cut off by a kill or a full house: {seen.cut_off:,}")
        if times:
            p50, p95, p99 = (times[min(len(times) - 1, int(q * len(times)))] for q in (0.5, 0.95, 0.99))
            print(f"answers to `ask`: {len(times):,}; p50 {p50:.3f} s, p95 {p95:.3f} s, p99 {p99:.3f} s")
        grown = []
        for life in self.memory:
            early = [mb for at, mb in life if at <= 0.2 * life[-1][0]] if life else []
            if len(life) > 10 and early:
                grown.append(life[-1][1] / max(early))
                print(f"memory: {max(early):.0f} MB after a fifth of its life, {life[-1][1]:.0f} MB at its end")
        reloaded = sum(line["event"] == "reloaded" for line in self.service.lines)
        print(f"settings read again {reloaded} times by the last process")
        print(f"wrong answers: {len(seen.wrong)}; 429 without Retry-After: {seen.without_retry}")
        for line in seen.wrong[:10]:
            print(" ", line)
        code = self.service.stop()
        print(f"exit code at SIGTERM: {code}")
        return not seen.wrong and not seen.without_retry and code == 0 and all(one <= GROWTH for one in grown)


def head(length: int) -> bytes:
    lines = ("POST /v1/score HTTP/1.1", "Host: localhost", "Content-Type: application/json", "Connection: close",
             f"Content-Length: {length}")  # fmt: skip
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


def resident(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1800.0)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--metric", default="gruen-redundancy")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    soak = Soak(given.metric, given.clients, given.seed)
    soak.run(given.seconds, given.kills)
    return 0 if soak.report() else 1


if __name__ == "__main__":
    sys.exit(main())
