"""What every request passes: host and token, how many at once, how slowly it may be read; then it is counted."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import time
import uuid

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quintet.core.plain import JsonObject
from quintet.server.instruments import Instruments, log
from quintet.server.request import Refusal, too_busy
from quintet.server.settings import Settings, is_loopback

OPEN = ("/", "/healthz", "/readyz", "/openapi.json")
"""What needs no token: nothing of a user's, and nothing that costs work."""
ROUTES = (*OPEN, "/v1/score", "/v1/metrics", "/v1/models", "/v1/tasks", "/metrics")
COUNTED = "/v1/score"


class Guard:
    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self.apply(settings)
        self.in_flight = 0
        self.instruments: Instruments | None = None

    def apply(self, settings: Settings) -> None:
        self._settings = settings
        self._local_only = settings.token is None and is_loopback(settings.host)
        self._token = _digest(settings.token.encode()) if settings.token is not None else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        visit = _Visit(scope, send, self._settings.limits.write_seconds)
        try:
            await self._admit(visit, scope, receive)
        except Refusal as refusal:
            await self._refuse(visit, refusal, scope, receive)
        except (TimeoutError, ConnectionError):
            visit.status = visit.status or 499
        except Exception as error:
            log("failure", id=visit.id, error=type(error).__name__)
            if not visit.status:
                await self._refuse(visit, Refusal(500, "internal", "something went wrong here"), scope, receive)
        finally:
            self._leave(visit)

    async def _admit(self, visit: _Visit, scope: Scope, receive: Receive) -> None:
        headers = {name: value for name, value in scope["headers"] if name in (b"host", b"authorization")}
        if self._local_only and not is_local_name(headers.get(b"host", b"")):
            # A web page elsewhere may point its own name at 127.0.0.1 to reach what has no token.
            raise Refusal(421, "wrong_host", "this service answers to localhost only")
        if self._token is not None and scope["path"] not in OPEN:
            given = headers.get(b"authorization", b"")
            scheme, _, token = given.partition(b" ")
            if scheme.lower() != b"bearer" or not hmac.compare_digest(_digest(token.strip()), self._token):
                raise Refusal(401, "unauthorized", "a bearer token is needed", {"WWW-Authenticate": "Bearer"})
        if scope["path"] != COUNTED:
            await self._app(scope, receive, visit.send)
            return
        if self.in_flight >= self._settings.limits.concurrent:
            raise too_busy("too many requests at once", 1)
        self.in_flight += 1
        try:
            await self._app(scope, receive, visit.send)
        finally:
            self.in_flight -= 1

    async def _refuse(self, visit: _Visit, refusal: Refusal, scope: Scope, receive: Receive) -> None:
        visit.facts["refused"] = refusal.code
        if not visit.status:
            refusal.headers["Connection"] = "close"
            try:
                await refusal.response()(scope, receive, visit.send)
            except (TimeoutError, ConnectionError):
                return

    def _leave(self, visit: _Visit) -> None:
        seconds = time.monotonic() - visit.began
        if self.instruments is not None:
            self.instruments.answered(visit.route, visit.status, seconds)
            if "refused" in visit.facts:
                self.instruments.refuse(visit.facts["refused"])
        if visit.route in ("/healthz", "/readyz", "/metrics") and visit.status == 200:
            return
        log(
            "request",
            id=visit.id,
            method=visit.method,
            route=visit.route,
            status=visit.status,
            ms=round(1000 * seconds, 1),
            bytes_out=visit.bytes_out,
            **visit.facts,
        )


class _Visit:
    """One request: its number, its way out, and what may be said about it."""

    def __init__(self, scope: Scope, send: Send, write_seconds: float) -> None:
        self.id, self.began = uuid.uuid4().hex, time.monotonic()
        self.route = scope["path"] if scope["path"] in ROUTES else "other"
        self.method = scope["method"] if scope["method"] in _METHODS else "other"
        self.status, self.bytes_out = 0, 0
        self.facts: JsonObject = {}
        scope.setdefault("state", {})["facts"] = self.facts
        self._send, self._write_seconds = send, write_seconds

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message["headers"], (b"x-request-id", self.id.encode()), *_HEADERS]
        self.bytes_out += len(message.get("body", b""))
        # A reader that stops reading must not hold its answer in memory for ever.
        async with asyncio.timeout(self._write_seconds):
            await self._send(message)


_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
)


def is_local_name(host: bytes) -> bool:
    try:
        name = host.decode("ascii").lower()
    except UnicodeDecodeError:
        return False
    bare = name.rsplit(":", 1)[0] if not name.endswith("]") else name
    return is_loopback(bare.strip("[]"))


def _digest(token: bytes) -> bytes:
    """Equal lengths for the comparison, so that not even the token's length can be timed."""
    return hashlib.sha256(token).digest()
