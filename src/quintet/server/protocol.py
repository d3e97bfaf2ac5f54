"""uvicorn's HTTP/1.1 with patience limits: half-open and slow clients are let go, a stop loses nothing."""

from __future__ import annotations

import asyncio
from typing import ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from quintet.server.settings import Limits

GRACE_SECONDS = 0.25
"""At a stop, how long a connection may still deliver the request it has already sent."""


class PatientProtocol(H11Protocol):
    limits: ClassVar[Limits] = Limits()
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.limits.connections:
            transport.abort()
            return
        self._start_clock()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._mind_the_clock()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._mind_the_clock()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_clock()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        if self._is_busy():
            super().shutdown()
        else:
            self.loop.call_later(GRACE_SECONDS, self._shut)

    def _shut(self) -> None:
        if not self.transport.is_closing():
            super().shutdown()

    def _is_busy(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _mind_the_clock(self) -> None:
        if self._is_busy():
            self._stop_clock()
        elif self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:
            self._start_clock()

    def _start_clock(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(self.limits.header_seconds, self._give_up)

    def _stop_clock(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        if not self._is_busy() and not self.transport.is_closing():
            self.transport.close()


def protocol_for(limits: Limits) -> type[PatientProtocol]:
    return type("BoundProtocol", (PatientProtocol,), {"limits": limits})
