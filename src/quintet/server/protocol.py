"""uvicorn's HTTP/1.1 with patience limits: half-open and slow clients are let go, a stop loses nothing."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from quintet.server.settings import Limits

GRACE_SECONDS = 0.25
"""At a stop, how long a connection may still deliver the request it has already sent."""


class PatientProtocol(H11Protocol):
    limits: ClassVar[Limits] = Limits()
    _deadline: asyncio.TimerHandle | None = None
    _parting = False
    _since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._since = self.loop.time()
        self._way_out = transport
        super().connection_made(_Parting(transport, self))  # type: ignore[arg-type]
        if len(self.connections) > self.limits.connections:
            self._make_room()
        self._start_clock()

    def data_received(self, data: bytes) -> None:
        if self._parting:
            return  # what nobody will read
        super().data_received(data)
        self._mind_the_clock()

    def eof_received(self) -> None:
        if self._parting:
            self._way_out.close()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self._parting and self.conn.their_state is h11.SEND_BODY:
            # The answer did not wait for the body, so the rest of it would hold the connection for as long as it likes.
            self.transport.close()
        self._mind_the_clock()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_clock()
        super().connection_lost(exc)

    def part(self) -> None:
        """Closes; a client that is still sending reads our answer first. To close at once would reset it."""
        if self._parting:
            return
        if self.conn.their_state is not h11.SEND_BODY or not self._way_out.can_write_eof():
            self._way_out.close()
            return
        self._parting = True
        self._stop_clock()
        self._unset_keepalive_if_required()
        self._way_out.write_eof()
        self._way_out.resume_reading()
        self.loop.call_later(self.limits.parting_seconds, self._way_out.abort)

    @property
    def parting(self) -> bool:
        return self._parting

    def _make_room(self) -> None:
        """The house is full: whoever has been silent longest goes; one who waits for an answer stays."""
        idle = [c for c in self.connections if isinstance(c, PatientProtocol) and c is not self and not c._is_busy()]
        leaves = min(idle, key=lambda c: c._since, default=self)
        leaves._way_out.abort()
        self.connections.discard(leaves)

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


class _Parting:
    """The transport as uvicorn sees it; only its end is another."""

    def __init__(self, transport: asyncio.Transport, protocol: PatientProtocol) -> None:
        self._transport, self._protocol = transport, protocol

    def close(self) -> None:
        self._protocol.part()

    def is_closing(self) -> bool:
        return self._protocol.parting or self._transport.is_closing()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


def protocol_for(limits: Limits) -> type[PatientProtocol]:
    return type("BoundProtocol", (PatientProtocol,), {"limits": limits})
