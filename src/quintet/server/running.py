"""Runs the service until it is told to stop; then finishes what it accepted."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import signal
import socket
from collections.abc import Callable, Iterator

import uvicorn

from quintet.errors import InputError, UserError
from quintet.server.app import Service
from quintet.server.instruments import log, take_over
from quintet.server.settings import Settings

DRAIN_SECONDS = 0.2
"""Between the signal and the closed door: what knocked before is let in."""


class StoppableServer(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, service: Service, read: Callable[[], Settings]) -> None:
        super().__init__(config)
        self._service, self._read = service, read

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """As uvicorn does, but a stop that was asked for ends with 0 and not by the signal."""
        handled = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self.handle_exit) for number in handled}
        loop = asyncio.get_running_loop()
        with contextlib.suppress(AttributeError, NotImplementedError):  # Windows has no SIGHUP
            loop.add_signal_handler(signal.SIGHUP, self._reload)
        try:
            yield
        finally:
            with contextlib.suppress(AttributeError, NotImplementedError):
                loop.remove_signal_handler(signal.SIGHUP)
            for number, handler in before.items():
                signal.signal(number, handler)

    def _reload(self) -> None:
        """Limits and token as their files say now; where those are wrong, all stays as it is and the log says so."""
        try:
            self._service.apply(self._read())
        except UserError as error:
            log("not reloaded", reason=str(error))
        else:
            log("reloaded")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._service.draining = True
        log("stopping")
        giving_up = asyncio.get_running_loop().call_later(self._service.limits.stop_seconds, self._service.give_up)
        await asyncio.sleep(DRAIN_SECONDS)
        await super().shutdown(sockets)
        giving_up.cancel()


def run_service(settings: Settings, read: Callable[[], Settings]) -> None:
    service = Service(settings)
    limits = settings.limits
    door = _bind(settings.host, settings.port)
    take_over()
    config = uvicorn.Config(
        service.asgi,
        http=service.protocol,
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
    StoppableServer(config, service, read).run(sockets=[door])
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
