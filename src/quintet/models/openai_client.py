"""HTTP to a server that speaks OpenAI's chat interface: retries, a rate limit, what it cost, answers kept on disk."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from urllib.parse import urlsplit

from quintet.core.plain import JsonObject
from quintet.errors import InputError, ModelError
from quintet.io.paths import cache_folder, offline_variable

LOOPBACK = ("localhost", "127.0.0.1", "::1")
_LARGEST_ANSWER = 10_000_000
_LONGEST_PAUSE = 60.0


@dataclass(frozen=True, slots=True)
class Settings:
    """From variables QUINTET_OPENAI_…, so that no key stands in a command or a signature."""

    key: str = ""
    tokens: int = 3072
    """How much of a prompt the server is sent, estimated; Ollama cuts at 4096 by default without saying so."""
    at_once: int = 4
    per_minute: float = 0.0
    """Requests; 0: as fast as they are answered."""
    tries: int = 5
    timeout: float = 120.0
    price_in: float = 0.0
    """Per million tokens."""
    price_out: float = 0.0
    budget: float = 0.0
    """What a process may spend; 0: no limit."""
    keep: bool = True

    @classmethod
    def from_environment(cls) -> Settings:
        usual = cls()
        price = os.environ.get("QUINTET_OPENAI_PRICE", "0,0").partition(",")
        return cls(
            key=_key("QUINTET_OPENAI_KEY"),
            tokens=int(_number("TOKENS", usual.tokens, 64)),
            at_once=int(_number("AT_ONCE", usual.at_once, 1)),
            per_minute=_number("PER_MINUTE", 0.0, 0.0),
            tries=int(_number("TRIES", usual.tries, 1)),
            timeout=_number("TIMEOUT", usual.timeout, 0.01),
            price_in=_parse("PRICE", price[0], 0.0),
            price_out=_parse("PRICE", price[2] or "0", 0.0),
            budget=_number("BUDGET", 0.0, 0.0),
            keep=os.environ.get("QUINTET_OPENAI_CACHE", "1") != "0",
        )


def _key(name: str) -> str:
    """A key from a file often brings its line end; what no header can carry is refused without being shown."""
    key = os.environ.get(name, "").strip()
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise InputError("holds characters that no key has", name, "set it to the key alone")
    return key


def _number(name: str, default: float, least: float) -> float:
    given = os.environ.get(f"QUINTET_OPENAI_{name}", "")
    return _parse(name, given, least) if given else default


def _parse(name: str, text: str, least: float) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not least <= value < float("inf"):
        raise InputError(f"cannot use {text!r}", f"QUINTET_OPENAI_{name}", f"give a number of at least {least:g}")
    return value


@dataclass(slots=True)
class Usage:
    """What was asked of a server in this process."""

    requests: int = 0
    retries: int = 0
    known: int = 0
    """Questions answered from disk."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0


class Refused(Exception):
    """The server says that it will not answer this, whatever is tried."""

    def __init__(self, status: int, message: str) -> None:
        self.status, self.message = status, message
        super().__init__(message)


class Pace:
    """At most so many requests a minute, evenly spread."""

    def __init__(self, per_minute: float, sleep: Callable[[float], None]) -> None:
        self._gap = 60.0 / per_minute if per_minute else 0.0
        self._sleep, self._lock, self._next = sleep, threading.Lock(), 0.0

    def wait(self) -> None:
        if not self._gap:
            return
        with self._lock:
            now = time.monotonic()
            start = max(now, self._next)
            self._next = start + self._gap
        self._sleep(start - now)


class Client:
    def __init__(self, url: str, settings: Settings, sleep: Callable[[float], None] = time.sleep) -> None:
        self.url, self.settings, self.usage = url.rstrip("/"), settings, Usage()
        host = _host(url)
        self._local = host in LOOPBACK
        self._key = settings.key or (_key("OPENAI_API_KEY") if host == "api.openai.com" else "")
        if self._key and not self._local and not url.startswith("https:"):
            raise ModelError(f"{url} would be sent a key in the clear; use https or unset QUINTET_OPENAI_KEY")
        self._sleep, self._lock, self._pace = sleep, threading.Lock(), Pace(settings.per_minute, sleep)
        local = [urllib.request.ProxyHandler({})] if self._local else []
        self._opener = urllib.request.build_opener(_NoRedirect(), *local)

    def post(self, path: str, payload: JsonObject) -> JsonObject:
        """The server's answer. Tried again when it is busy or out of reach; Refused when it says no."""
        variable = offline_variable()
        if variable is not None and not self._local:
            raise ModelError(f"{self.url} cannot be asked because {variable} is set")
        reason = ""
        for attempt in range(self.settings.tries):
            if attempt:
                with self._lock:
                    self.usage.retries += 1
            self._check_budget()
            self._pace.wait()
            try:
                answer = self._send(path, payload)
                self._count(answer)
                return answer
            except urllib.error.HTTPError as error:
                with error:
                    message = _message(error.read(100_000))
                if error.code not in (408, 409, 425, 429) and error.code < 500:
                    raise Refused(error.code, message) from None
                reason, asked = f"{error.code} {message}", error.headers.get("Retry-After", "")
            except (OSError, HTTPException, ValueError, RecursionError) as error:
                reason, asked = str(getattr(error, "reason", "") or error) or type(error).__name__, ""
            if attempt + 1 < self.settings.tries:
                self._sleep(_pause(attempt, asked))
        raise ModelError(f"{self.url} did not answer after {self.settings.tries} tries ({reason[:200]})")

    def _send(self, path: str, payload: JsonObject) -> JsonObject:
        body = json.dumps(payload).encode("ascii")
        headers = {"Content-Type": "application/json", "User-Agent": "quintet"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        request = urllib.request.Request(self.url + path, body, headers)
        with self._lock:
            self.usage.requests += 1
        with self._opener.open(request, timeout=self.settings.timeout) as stream:
            answer = json.loads(stream.read(_LARGEST_ANSWER), parse_int=_integer)
        if not isinstance(answer, dict):
            raise ValueError("the answer is no JSON object")
        return answer

    def _count(self, answer: JsonObject) -> None:
        used = answer.get("usage")
        if not isinstance(used, dict):
            return
        read, written = (_count(used.get(name)) for name in ("prompt_tokens", "completion_tokens"))
        with self._lock:
            self.usage.prompt_tokens += read
            self.usage.completion_tokens += written
            self.usage.cost += (read * self.settings.price_in + written * self.settings.price_out) / 1e6

    def _check_budget(self) -> None:
        if self.settings.budget and self.usage.cost >= self.settings.budget:
            raise ModelError(
                f"{self.url} has cost {self.usage.cost:.4f} of a budget of {self.settings.budget:g}; "
                f"answers so far are kept, raise QUINTET_OPENAI_BUDGET to go on"
            )


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would take the key and the texts to a server nobody named."""

    def redirect_request(self, *_: object, **__: object) -> None:
        return None


def _pause(attempt: int, asked: str) -> float:
    try:
        return min(_LONGEST_PAUSE, max(0.0, float(asked)))
    except ValueError:
        return min(_LONGEST_PAUSE, 0.5 * 2.0**attempt)


def _message(body: bytes) -> str:
    """What the server says, on one short line."""
    text = body.decode("utf-8", "replace")
    try:
        found = json.loads(text)
        inner = found.get("error", found.get("message", text))
        text = str(inner.get("message", inner)) if isinstance(inner, dict) else str(inner)
    except (ValueError, AttributeError):
        pass
    return " ".join(text.split())[:300]


def _host(url: str) -> str:
    try:
        parts = urlsplit(url)
        _ = parts.port  # out of range, it is only refused when it is looked at
        return parts.hostname or ""
    except ValueError as error:
        raise InputError(f"is no address ({error})", url, "write http://HOST:PORT/v1") from None


def _integer(digits: str) -> int | float:
    """No number of a server's is long; one of hundreds of digits fits no calculation."""
    return int(digits) if len(digits) < 19 else float(digits[:20])


def _count(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0


class Answers:
    """Answers on disk: key to probability. Shared by processes; a folder that cannot be written keeps nothing."""

    def __init__(self, path: Path | None = None) -> None:
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None
        path = path or cache_folder() / "openai.sqlite"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, timeout=60.0, isolation_level=None, check_same_thread=False)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("CREATE TABLE IF NOT EXISTS answers (key BLOB PRIMARY KEY, value REAL NOT NULL)")
        except (OSError, sqlite3.Error):
            self._db = None

    def get(self, key: bytes) -> float | None:
        if self._db is None:
            return None
        row = None
        with self._lock, contextlib.suppress(sqlite3.Error):
            row = self._db.execute("SELECT value FROM answers WHERE key = ?", (key,)).fetchone()
        return None if row is None else float(row[0])

    def put(self, key: bytes, value: float) -> None:
        if self._db is None:
            return
        with self._lock, contextlib.suppress(sqlite3.Error):
            self._db.execute("INSERT OR IGNORE INTO answers (key, value) VALUES (?, ?)", (key, value))
