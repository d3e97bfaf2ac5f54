"""The routes. Reading and answering happen in the event loop, scoring in its own thread."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any, cast

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from quintet._version import __version__
from quintet.core.example import FIELDS
from quintet.core.plain import Foreign
from quintet.core.stopping import Stopped
from quintet.errors import ModelError, QuintetError, UserError
from quintet.report.write import asset, policy
from quintet.server import openapi as inventory
from quintet.server.batching import Batcher, Job, QueueFull
from quintet.server.guard import Guard
from quintet.server.instruments import CONTENT_TYPE, Instruments, log
from quintet.server.openapi import document
from quintet.server.protocol import protocol_for
from quintet.server.request import Choice, Refusal, ScoreRequest, json_response, read_request, too_busy
from quintet.server.scoring import WARMING, Scorer, TooMuchWork, answer_bytes
from quintet.server.settings import Settings

# The page at `/`: paste a source and an output, see scores and evidence as they arrive.
#
# It draws evidence with the very scripts of the report.

SHARED_SCRIPTS = ("theme.js", "payload.js", "dom.js", "text.js", "example.js")


def _own(name: str) -> str:
    return files("quintet.server").joinpath("assets", name).read_text(encoding="utf-8")


@cache
def _script() -> str:
    return "".join(asset(name) for name in SHARED_SCRIPTS) + _own("try.js")


@cache
def page() -> str:
    parts = {
        "style": asset("report.css") + _own("try.css"),
        "script": _script(),
        "version": escape(__version__),
    }
    pieces = _own("try.html").split("{{")
    return pieces[0] + "".join(parts[name] + rest for name, rest in (p.split("}}", 1) for p in pieces[1:]))


@cache
def page_policy() -> str:
    return policy(_script()) + "; connect-src 'self'"


class Service:
    """One application: `asgi` is what a server runs; `draining` turns readiness off before a stop."""

    def __init__(self, settings: Settings) -> None:
        settings.check()
        self.settings, self.limits = settings, settings.limits
        self.protocol = protocol_for(settings.limits)
        self.draining = False
        self.warm = False
        self._scorer = Scorer(self.limits.work)
        self._batcher = Batcher(self._scorer, self.limits, lambda *counts: self.instruments.batch(*counts))
        routes = [
            Route("/", self._page),
            Route("/healthz", self._health),
            Route("/readyz", self._ready),
            Route("/metrics", self._instruments),
            Route("/openapi.json", self._openapi),
            Route("/v1/metrics", self._metrics),
            Route("/v1/models", self._models),
            Route("/v1/tasks", self._tasks),
            Route("/v1/score", self._score, methods=["POST"]),
        ]
        handlers: Foreign = {HTTPException: _no_route, Refusal: _refused, ConnectionError: _nobody, Exception: _failed}
        inner = Starlette(routes=routes, lifespan=self._lifespan, exception_handlers=handlers)
        inner.router.redirect_slashes = False
        self.asgi = Guard(inner, settings)
        self.instruments = Instruments(lambda: self._batcher.queued_rows, lambda: self.asgi.in_flight)
        self.asgi.instruments = self.instruments

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        self._batcher.start()
        warming = asyncio.create_task(self._warm_up())
        yield
        warming.cancel()
        await asyncio.to_thread(self._batcher.stop, 1.0)
        log("stopped")

    def apply(self, settings: Settings) -> None:
        """Other limits and another token from the next request on; address and warm tasks stay as they were."""
        self.settings, self.limits = settings, settings.limits
        self.protocol.limits = self._batcher.limits = settings.limits
        self._scorer.most_work = settings.limits.work
        self.asgi.apply(settings)

    def give_up(self) -> None:
        """The time for stopping is over: who still waits is told."""
        self._batcher.give_up()

    @property
    def idle(self) -> bool:
        """Whether nothing is being scored any more."""
        return not self._batcher.alive

    async def _warm_up(self) -> None:
        for task in self.settings.warm:
            try:
                choice = Choice(task, None, (), None, frozenset(FIELDS))
                await self._batcher.submit(choice, [WARMING], lambda share: share).answer
            except (QuintetError, QueueFull) as error:
                log("warm-up", task=task, error=type(error).__name__)
        self.warm = True

    async def _score(self, request: Request) -> Response:
        if request.headers.get("content-type", "").split(";")[0].strip().lower() != "application/json":
            # Also what keeps other web pages out: a browser asks before it sends JSON across origins.
            raise Refusal(415, "wrong_type", "send application/json")
        body = await self._body(request)
        asked = read_request(body, self.limits)
        request.state.facts.update(rows=len(asked.examples), bytes_in=len(body))
        return Response(await self._scored(request, asked), 200, {"Cache-Control": "no-store"}, "application/json")

    async def _body(self, request: Request) -> bytes:
        length = request.headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self.limits.body_bytes:
            raise Refusal(413, "too_large", f"a request may have {self.limits.body_bytes} bytes")
        pieces, size = [], 0
        try:
            async with asyncio.timeout(self.limits.body_seconds):
                async for piece in request.stream():
                    size += len(piece)
                    if size > self.limits.body_bytes:
                        raise Refusal(413, "too_large", f"a request may have {self.limits.body_bytes} bytes")
                    pieces.append(piece)
        except TimeoutError:
            raise Refusal(408, "too_slow", "the body took too long to arrive") from None
        except ClientDisconnect:
            raise ConnectionError from None
        return b"".join(pieces)

    async def _scored(self, request: Request, asked: ScoreRequest) -> bytes:
        finish = functools.partial(answer_bytes, evidence=asked.evidence)
        try:
            job = self._batcher.submit(asked.choice, asked.examples, finish)
        except QueueFull as full:
            raise too_busy("the queue is full", full.seconds) from None
        gone = asyncio.create_task(_gone(request))
        try:
            waited: set[asyncio.Future[Any]] = {job.answer, gone}
            await asyncio.wait(waited, timeout=self.limits.request_seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
        return _answer_of(job, gone)

    async def _page(self, _: Request) -> Response:
        return Response(page(), 200, {"Content-Security-Policy": page_policy()}, "text/html")

    async def _health(self, _: Request) -> Response:
        return json_response({"status": "alive"})

    async def _ready(self, _: Request) -> Response:
        if self._batcher.stuck:
            return json_response({"status": "stuck"}, 503)
        ready = self._batcher.alive and self.warm and not self.draining
        return json_response({"status": "ready" if ready else "not ready"}, 200 if ready else 503)

    async def _instruments(self, _: Request) -> Response:
        return Response(self.instruments.text(), 200, {"Content-Type": CONTENT_TYPE})

    async def _openapi(self, _: Request) -> Response:
        return json_response(document(self.settings))

    async def _metrics(self, _: Request) -> Response:
        return json_response({"metrics": await asyncio.to_thread(inventory.metrics)})

    async def _models(self, _: Request) -> Response:
        return json_response({"models": inventory.models()})

    async def _tasks(self, _: Request) -> Response:
        return json_response({"tasks": inventory.tasks()})


def _answer_of(job: Job, gone: asyncio.Task[None]) -> bytes:
    if not job.answer.done():
        job.abandoned.set()
        job.answer.cancel()
        if gone.done() and not gone.cancelled():
            raise ConnectionError
        raise Refusal(504, "timeout", "the scores were not ready in time")
    error = job.answer.exception()
    if error is None:
        return job.answer.result()  # type: ignore[return-value]
    if isinstance(error, Stopped):
        raise Refusal(503, "stopping", "the service is being stopped", {"Retry-After": "5"})
    if isinstance(error, TooMuchWork):
        raise Refusal(413, "too_much_work", str(error))
    if isinstance(error, ModelError):
        # Its message may name folders of this machine.
        if cast(Choice, job.choice).model is not None:
            raise Refusal(422, "invalid", "the model named does not do what this metric needs of one")
        raise Refusal(503, "no_model", "a model that this needs is not installed on the server")
    if isinstance(error, UserError):
        raise Refusal(422, "invalid", str(error))
    raise error


async def _gone(request: Request) -> None:
    """Ends when the client does."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _refused(request: Request, refusal: Exception) -> Response:
    if not isinstance(refusal, Refusal):
        return await _failed(request, refusal)
    request.state.facts["refused"] = refusal.code
    # What is left of a body will not be read, so the connection cannot be used again.
    refusal.headers["Connection"] = "close"
    return refusal.response()


async def _failed(_: Request, __: Exception) -> Response:
    return Refusal(500, "internal", "something went wrong here").response()


async def _nobody(_: Request, __: Exception) -> Response:
    """The client has gone; the status is for the log."""
    return Response(status_code=499)


async def _no_route(_: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    headers: Foreign = getattr(error, "headers", None)
    code = {404: "not_found", 405: "wrong_method"}.get(status, "refused")
    message = {404: "there is nothing here", 405: "this method is not for this address"}.get(status, "refused")
    return Refusal(status, code, message, headers).response()
