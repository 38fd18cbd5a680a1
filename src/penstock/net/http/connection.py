"""uvicorn's connection, admitted like those of other doors, and with limits on the time that a client takes.

Imports the web stack: for modules that are loaded when an application is built, in a thread.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
from http import HTTPStatus
from typing import Any, Final, cast

import h11
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from penstock.net.admission.door import Door
from penstock.net.admission.ticket import Refusal, Ticket
from penstock.net.endpoint import NOWHERE, endpoint_of
from penstock.net.http.browser_guard import SAFETY_HEADERS
from penstock.net.http.chunked_bodies import BodyFlow, TurnedConnection
from penstock.net.http.connection_state import CONNECTION
from penstock.net.http.header_lines import HEADER_BYTES_MAX, HEADER_LINES_MAX, TOO_LONG
from penstock.net.http.login.certificate_login import CERTIFICATE
from penstock.net.http.problem import PROBLEM_TYPE, problem_body
from penstock.net.http.stall_watch import HttpTimes, StallWatch, Waiting
from penstock.net.open_connections import owner_of
from penstock.observability.repeats import Repeats
from penstock.security.session import Session

logger = logging.getLogger(__name__)

RESET: Final = struct.pack("ii", 1, 0)
LOOKS_PER_LIMIT: Final = 4
_repeats: Final = Repeats(logger)


class HttpConnection(H11Protocol):
    """One for each connection; uvicorn makes it with `config`, `server_state`, `app_state` and `_loop`."""

    def __init__(self, *, door: Door, times: HttpTimes, ticket: Ticket | None = None, **uvicorn: Any) -> None:
        """`ticket` is that of a connection under TLS, which was admitted before its handshake."""
        super().__init__(**uvicorn)
        self.conn: TurnedConnection = TurnedConnection(HEADER_BYTES_MAX)
        self._turn: asyncio.Handle | None = None  # at the body
        self._asking: object = None  # the request for whose body the application has asked
        self._door = door
        self._times = times
        self._ticket = ticket
        self._watch = StallWatch(times, self.loop.time())
        self._look_timer: asyncio.TimerHandle | None = None
        self.session: Session | None = None
        """Of the last request; the gate of sessions sets it."""
        self._is_silent = True  # no complete header was received
        self._received_bytes = 0
        self._received_at = self.loop.time()
        self._drained_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        peer = endpoint_of(transport.get_extra_info("peername"))
        if self._ticket is not None:
            self._ticket.hand_over(transport.abort)
        else:
            admitted = self._door.admit(peer.host, transport.abort)
            if isinstance(admitted, Refusal):
                transport.abort()
                return
            self._ticket = admitted
        super().connection_made(transport)
        self.flow: BodyFlow = BodyFlow(transport, self._wait_for_turn)
        self.client = None if peer is NOWHERE else (peer.host, peer.port)
        self.app_state = {**self.app_state, CONNECTION: self}  # of each request
        self._keep_certificate(transport)
        self._look_later()

    def _keep_certificate(self, transport: asyncio.Transport) -> None:
        """Put the client's certificate into the state of each request."""
        stream = transport.get_extra_info("ssl_object")
        certificate = None if stream is None else stream.getpeercert(binary_form=True)
        if certificate is not None:
            self.app_state = {**self.app_state, CERTIFICATE: certificate}

    def connection_lost(self, exc: Exception | None) -> None:
        if self._ticket is None:
            return  # it was refused
        self._ticket.release()
        for pending in (self._look_timer, self._turn):
            if pending is not None:
                pending.cancel()
        self.app_state = {}  # or it would refer to itself, and wait for the collector
        super().connection_lost(exc)
        self.flow.forget()

    def disconnect(self, reason: str) -> None:
        """End the connection because an operator wants it to end."""
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        self._received_bytes += len(data)
        self._received_at = self.loop.time()
        super().data_received(data)
        if self.conn.is_chunked:  # it is kept, and not parsed yet
            self.flow.pause_reading()
            if self._asking is self.cycle:
                self._turn_soon()
        if self._is_silent and self._request is not None and self._ticket is not None:
            self._is_silent = False
            self._ticket.heard()

    def confirm(self) -> None:
        if self._ticket is not None:
            self._ticket.confirm(owner_of(self.session), self._last_used)

    def _last_used(self) -> float:
        return self._received_at

    @property
    def _request(self) -> RequestResponseCycle | None:
        """The last request whose header was complete."""
        return cast("RequestResponseCycle | None", self.cycle)

    def resume_writing(self) -> None:
        self._drained_bytes += HIGH_WATER_LIMIT
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.close()  # in the middle of another answer
            self.conn.forget()
            return
        status, detail = HTTPStatus.BAD_REQUEST, "the request is not HTTP/1.1"
        if self.conn.has_long_header:
            status, detail = TOO_LONG, f"a header has at most {HEADER_LINES_MAX} lines and {HEADER_BYTES_MAX} bytes"
        body = problem_body(status, detail, "").encode()
        headers = [(b"content-type", PROBLEM_TYPE.encode()), (b"connection", b"close"), *SAFETY_HEADERS]
        headers.append((b"content-length", b"%d" % len(body)))
        for event in (h11.Response(status_code=status, headers=headers), h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
        self.conn.forget()

    def _unsupported_upgrade_warning(self) -> None:
        """Clients may ask for another protocol as often as they like: they are answered as if they had not."""

    # --- chunked bodies ----------------------------------------------------------------------------------------------

    def _wait_for_turn(self) -> bool:
        """Note that the application asks for its body, or wants none of the rest; whether that waits for a turn."""
        if not self.conn.is_chunked:
            return False
        self._asking = self.cycle
        self._turn_soon()
        return True

    def _turn_soon(self) -> None:
        if self._turn is None:
            self._turn = self.loop.call_soon(self._take_turn)

    def _take_turn(self) -> None:
        """Parse some of a body. The next turn comes when the application asks again, or with more bytes."""
        self._turn = None
        if self.transport.is_closing():
            return  # what came behind the request of the last answer is of no interest
        self.flow.read_on()
        self.conn.begin_turn()
        self.handle_events()
        if not self.conn.end_turn():
            return
        self.flow.pause_reading()
        is_awaited = self.cycle.response_complete or not self.cycle.message_event.is_set()
        if is_awaited and self._asking is self.cycle:
            self._turn_soon()

    # --- slow clients ------------------------------------------------------------------------------------------------

    def _look_later(self) -> None:
        seconds = min(self._times.header_s, self._times.stall_s) / LOOKS_PER_LIMIT
        self._look_timer = self.loop.call_later(seconds, self._look)

    def _look(self) -> None:
        """Close the connection if its client is too slow; otherwise look again later, as long as it is open."""
        waiting = self._waiting()
        moved = self._received_bytes
        if waiting is Waiting.ANSWER:
            moved = self._drained_bytes - self.transport.get_write_buffer_size()
        if not self._watch.is_overdue(self.loop.time(), waiting, self.cycle, moved):
            self._look_later()
            return
        self._door.dropped[waiting] += 1
        host = self.client[0] if self.client else "a client"
        _repeats.warning(waiting, "closed the HTTP connection of %s: the %s was too slow", host, waiting)
        if waiting is Waiting.ANSWER:  # the system, too, is to give up what the client has not read
            sock = self.transport.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self.transport.abort()

    def _waiting(self) -> Waiting:
        request = self._request
        if self.transport.get_write_buffer_size():
            is_last = request is None or request.response_complete or self.transport.is_closing()
            return Waiting.ANSWER if is_last or self.flow.write_paused else Waiting.NOTHING
        if self.flow.read_paused:
            return Waiting.NOTHING  # the application does not keep up with the body
        if self.conn.their_state is h11.SEND_BODY:
            return Waiting.BODY
        if request is None:
            return Waiting.NOTHING  # the admission has a time limit for the first header
        has_begun = self.conn.their_state is h11.IDLE and bool(self.conn.trailing_data[0])
        return Waiting.HEADER if has_begun else Waiting.NOTHING
