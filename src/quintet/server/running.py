"""Runs the service until it is told to stop; then finishes what it accepted."""

from __future__ import annotations

import asyncio
import math
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from quintet.errors import InputError
from quintet.server.app import Service
from quintet.server.logs import log, take_over
from quintet.server.protocol import protocol_for
from quintet.server.settings import Settings

DRAIN_SECONDS = 0.2
"""Between the signal and the closed door: what knocked before is let in."""


class StoppableServer(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """As uvicorn does, but a stop that was asked for ends with 0 and not by the signal."""
        handled = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self.handle_exit) for number in handled}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._service.draining = True
        log("stopping")
        giving_up = asyncio.get_running_loop().call_later(self._service.limits.stop_seconds, self._service.give_up)
        await asyncio.sleep(DRAIN_SECONDS)
        await super().shutdown(sockets)
        giving_up.cancel()


def run_service(settings: Settings) -> None:
    service = Service(settings)
    limits = settings.limits
    door = _bind(settings.host, settings.port)
    take_over()
    config = uvicorn.Config(
        service.asgi,
        http=protocol_for(limits),
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=2048,
        timeout_keep_alive=limits.idle_seconds,
        timeout_graceful_shutdown=math.ceil(limits.stop_seconds) + 1,
        h11_max_incomplete_event_size=32 * 1024,
    )
    name, port = door.getsockname()[:2]
    shown = f"[{name}]" if ":" in name else name
    log("listening", url=f"http://{shown}:{port}", token=settings.token is not None)
    StoppableServer(config, service).run(sockets=[door])
    if not service.idle:
        # A library that does not let go of its thread must not keep the process: all who waited have been told.
        log("ended with work under way")
        os._exit(0)


def _bind(host: str, port: int) -> socket.socket:
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        door = socket.socket(family, socket.SOCK_STREAM)
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        door.bind(address)
        door.listen(2048)
    except OSError as error:
        raise InputError(
            f"cannot listen on {host}:{port} ({error.strerror or error})", todo="choose another --host or --port"
        ) from None
    door.setblocking(False)
    return door
