"""A TCP server whose streams are encrypted: it accepts sockets itself, and each has to earn its handshake.

    accept > admitted > the first record is complete > handshake, a few a turn > the protocol is made

asyncio's own server makes the protocol after the handshake, so that silent sockets are in no count. Here a socket that
waits costs a descriptor, has a ticket of the admission, and gives way to others like any silent connection. Handshakes
begin a few at a time, at a pace that leaves the event loop time for what follows from them: a handshake and a login
take about a millisecond, and thousands of clients come back at once when a node has restarted.

Addresses take turns, so that a crowd of one does not keep others waiting. When there are as many handshakes as there
may be, the address with most of them gives one up, the oldest, for another address that has fewer.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable
from functools import partial
from typing import Final, Protocol

from penstock.model.text.address import source_of
from penstock.net.admission.door import Door
from penstock.net.admission.ticket import Refusal, Ticket
from penstock.net.endpoint import Endpoint, endpoint_of
from penstock.net.interface import ServerOptions
from penstock.net.tcp import bound_socket, set_buffer_sizes
from penstock.net.tls.by_address import ByAddress
from penstock.net.tls.first_record import HANDSHAKE, RECORD_BYTES_MAX, has_ended, record_bytes, wake_at
from penstock.net.tls.handshake import shake_hands
from penstock.net.tls.paced_stream import Lane
from penstock.observability.repeats import STRANGERS_LINES_MAX, Repeats
from penstock.runtime.fair_threads import FairThreads

logger = logging.getLogger(__name__)

ACCEPTED_PER_TURN: Final = 8
BEGUN_PER_TURN: Final = 2
TURN_SECONDS: Final = 0.002
"""Between the turns in which handshakes begin. Each costs the loop about a millisecond in all, with the login behind it
that other turns have to serve. With twice as many in a turn, and a turn half as often, what follows from them comes in
bursts twice as long."""
LATE_SECONDS_MAX: Final = 0.02
"""By which a turn is put off at most because the one before it came late."""
UNDER_WAY_MAX: Final = 1024
"""Handshakes at once: each takes up to 50 KB."""
PATIENCE_SECONDS: Final = 2.0
"""A handshake that has taken longer gives way to another one of its address when there are too many."""
THREADS: Final = 2
"""For handshakes in which clients show certificates."""
AGAIN_SECONDS: Final = 0.1
"""After a look at a socket that should not have been readable yet."""
FAILED: Final = "handshake"

Make = Callable[[Ticket], asyncio.BaseProtocol]


class Contexts(Protocol):
    """The certificates of a listener, which may change while it serves."""

    @property
    def context(self) -> ssl.SSLContext: ...


class _Arrival:
    """A socket that has not finished its handshake."""

    __slots__ = (
        "_on_drop",
        "began_at",
        "deadline",
        "host",
        "seen_bytes",
        "source",
        "stream",
        "task",
        "ticket",
        "timer",
    )

    ticket: Ticket
    timer: asyncio.TimerHandle

    def __init__(self, stream: socket.socket, host: str, deadline: float, on_drop: Callable[[_Arrival], None]) -> None:
        self._on_drop = on_drop
        self.stream = stream
        self.host = host
        self.source = source_of(host)
        self.deadline = deadline
        self.seen_bytes = 0  # of a record that is not complete
        self.began_at = 0.0
        self.task: asyncio.Task[None] | None = None

    @property
    def is_over(self) -> bool:
        """Whether the handshake is done, so that the ticket is its protocol's, or the ticket was given back."""
        return self.ticket.drop != self.drop

    def drop(self) -> None:
        """End it; for the admission."""
        self._on_drop(self)


class TlsServer:
    """Implements `net.interface.NetworkServer` but for `serve`: its streams come with their tickets."""

    def __init__(self, options: ServerOptions, contexts: Contexts, *, handshake_seconds: float) -> None:
        self._options = options
        self._contexts = contexts
        self._handshake_seconds = handshake_seconds
        self._socket = bound_socket(options.host, options.port)
        set_buffer_sizes(self._socket, options)
        self._port = int(self._socket.getsockname()[1])
        self._silent: set[_Arrival] = set()  # have not sent a complete record yet
        self._ready: ByAddress[_Arrival] = ByAddress()  # have sent the beginning of a handshake
        self._under_way: ByAddress[_Arrival] = ByAddress()
        self._begins_soon = False
        self._next_turn = 0.0
        self._is_open = True
        self._accepts = False
        self._repeats = Repeats(logger, total_max=STRANGERS_LINES_MAX)
        self._threads = FairThreads(THREADS, "penstock-handshake")
        self._lane = Lane()
        self._refused_certificate: Callable[[str, str], None] | None = None
        self._door: Door
        self._make: Make

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(self._options.host, self._port)

    def report_refused_certificates(self, report: Callable[[str, str], None]) -> None:
        """Report clients whose certificate is refused, or that do not show a required one: address and reason."""
        self._refused_certificate = report

    async def serve(self, door: Door, make: Make) -> None:
        """Accept streams and admit them to a door; each gets a protocol of its own when its handshake is done."""
        self._door, self._make = door, make
        self._socket.listen(self._options.backlog)
        self._accept_again()

    def close(self) -> None:
        """Accept no more streams, and end those without a finished handshake. May be called again."""
        if not self._is_open:
            return
        self._is_open = False
        if self._accepts:
            asyncio.get_running_loop().remove_reader(self._socket.fileno())
        self._socket.close()
        for arrival in (*self._silent, *self._ready, *self._under_way):
            self._drop(arrival)
        self._threads.close()

    # --- sockets -----------------------------------------------------------------------------------------------------

    def _accept_again(self) -> None:
        if self._is_open:
            self._accepts = True
            asyncio.get_running_loop().add_reader(self._socket.fileno(), self._accept)

    def _accept(self) -> None:
        for _ in range(ACCEPTED_PER_TURN):
            try:
                stream, address = self._socket.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._rest(error)
                return
            self._admit(stream, endpoint_of(address).host)

    def _rest(self, error: OSError) -> None:
        """Accept again in a second: there are no descriptors, and the socket would be readable all the time."""
        self._repeats.warning("accept", "cannot accept connections at %s: %s", self.endpoint, error)
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._socket.fileno())
        self._accepts = False
        loop.call_later(1.0, self._accept_again)

    def _admit(self, stream: socket.socket, host: str) -> None:
        loop = asyncio.get_running_loop()
        arrival = _Arrival(stream, host, loop.time() + self._handshake_seconds, self._drop)
        admitted = self._door.admit(host, arrival.drop)
        if isinstance(admitted, Refusal):
            stream.close()
            return
        arrival.ticket = admitted
        arrival.timer = loop.call_at(arrival.deadline, self._too_late, arrival)
        stream.setblocking(False)
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._silent.add(arrival)
        loop.add_reader(stream.fileno(), self._has_bytes, arrival)

    def _too_late(self, arrival: _Arrival) -> None:
        if not arrival.is_over:
            self._fail(arrival, "no handshake in time")

    def _has_bytes(self, arrival: _Arrival) -> None:
        try:
            first = arrival.stream.recv(RECORD_BYTES_MAX, socket.MSG_PEEK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            first = b""
        wanted = record_bytes(first)
        if len(first) <= arrival.seen_bytes:
            if not first or has_ended(arrival.stream):
                self._drop(arrival)
            else:
                self._look_later(arrival)
        elif first[0] != HANDSHAKE:
            self._fail(arrival, "plain text on a TLS port")
        elif len(first) < wanted:
            arrival.seen_bytes = len(first)
            wake_at(arrival.stream, wanted)
        else:
            if arrival.seen_bytes:
                wake_at(arrival.stream, 1)
            self._end_silence(arrival)
            self._ready.add(arrival)
            self._begin_soon()

    def _look_later(self, arrival: _Arrival) -> None:
        """Look again in a moment: a system that is short of memory has a socket readable before it has enough."""
        loop = asyncio.get_running_loop()
        loop.remove_reader(arrival.stream.fileno())
        loop.call_later(AGAIN_SECONDS, self._look_again, arrival)

    def _look_again(self, arrival: _Arrival) -> None:
        if arrival in self._silent:
            asyncio.get_running_loop().add_reader(arrival.stream.fileno(), self._has_bytes, arrival)

    def _end_silence(self, arrival: _Arrival) -> None:
        self._silent.discard(arrival)
        asyncio.get_running_loop().remove_reader(arrival.stream.fileno())

    def _fail(self, arrival: _Arrival, reason: str, *, is_login: bool = False) -> None:
        self._door.dropped[FAILED] += 1
        if is_login and self._refused_certificate is not None:  # one line, that of the audit log
            self._refused_certificate(arrival.host, reason)
        else:
            # By address, too: one that fails all the time does not hide the others.
            self._repeats.warning(
                (reason, arrival.host), "refused %s at the %s door: %s", arrival.host, self._door.name, reason
            )
        self._drop(arrival)

    def _drop(self, arrival: _Arrival) -> None:
        """End a stream before its handshake has."""
        if arrival in self._silent:
            self._end_silence(arrival)
        elif arrival in self._under_way:
            assert arrival.task is not None
            arrival.task.cancel()
            self._end(arrival)
        else:
            self._ready.discard(arrival)
        arrival.timer.cancel()
        arrival.stream.close()
        arrival.ticket.release()

    # --- handshakes --------------------------------------------------------------------------------------------------

    def _begin_soon(self) -> None:
        """Schedule the next turn. One that comes late shows that the loop has more to do: the next one waits longer."""
        if self._ready and not self._begins_soon:
            self._begins_soon = True
            loop = asyncio.get_running_loop()
            self._next_turn = max(self._next_turn, loop.time())
            loop.call_at(self._next_turn, self._begin_some)

    def _begin_some(self) -> None:
        self._begins_soon = False
        loop = asyncio.get_running_loop()
        now = loop.time()
        late = min(now - self._next_turn, LATE_SECONDS_MAX)
        self._next_turn = now + TURN_SECONDS + late
        for _ in range(BEGUN_PER_TURN):
            if not self._ready:
                return
            source = self._next_source()
            wait = self._seconds_to_room(source)
            if wait > 0:
                loop.call_later(wait, self._begin_soon)
                return
            self._begin(self._ready.take(source))
        self._begin_soon()

    def _next_source(self) -> str:
        """Whose handshake begins: one after the other, while there is room; then whoever has the fewest."""
        if len(self._under_way) < UNDER_WAY_MAX:
            return next(iter(self._ready.sources))
        return min(self._ready.sources, key=self._under_way.count)

    def _seconds_to_room(self, source: str) -> float:
        """0 if a handshake of a source may begin, also in the place of one of a crowd, or that has taken long."""
        if len(self._under_way) < UNDER_WAY_MAX:
            return 0.0
        crowd = self._under_way.largest()
        oldest = self._under_way.first_of(crowd)
        wait = oldest.began_at + PATIENCE_SECONDS - asyncio.get_running_loop().time()
        if wait > 0 and self._under_way.count(source) + 1 >= self._under_way.count(crowd):
            return wait
        if oldest.is_over:
            self._end(oldest)
        else:
            self._fail(oldest, "a handshake that took too long")
        return 0.0

    def _begin(self, arrival: _Arrival) -> None:
        loop = asyncio.get_running_loop()
        arrival.began_at = loop.time()
        arrival.task = loop.create_task(self._shake_hands(arrival))
        self._under_way.add(arrival)

    async def _shake_hands(self, arrival: _Arrival) -> None:
        loop = asyncio.get_running_loop()
        try:
            await shake_hands(
                arrival.stream,
                self._make(arrival.ticket),
                self._contexts.context,
                partial(self._threads.run, arrival.source),
                self._lane,
                handshake_seconds=max(arrival.deadline - loop.time(), 0.1),
            )
        except OSError as error:  # an SSLError and a TimeoutError are
            if self._end(arrival):
                self._fail(arrival, _reason(error), is_login=_is_about_certificate(error))
        self._end(arrival)

    def _end(self, arrival: _Arrival) -> bool:
        """Note that a handshake is over, whatever its outcome. False if that was known."""
        arrival.timer.cancel()
        was_under_way = self._under_way.discard(arrival)
        self._begin_soon()
        return was_under_way


Listening = socket.socket | TlsServer
"""A bound address, whose streams are plain or encrypted."""


def address_of(listening: Listening) -> Endpoint:
    if isinstance(listening, TlsServer):
        return listening.endpoint
    host, port = listening.getsockname()[:2]
    return Endpoint(str(host), int(port))


def _is_about_certificate(error: OSError) -> bool:
    """Whether it is this side that does not take the client's certificate, or the want of one."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return True
    return isinstance(error, ssl.SSLError) and error.reason == "PEER_DID_NOT_RETURN_A_CERTIFICATE"


def _reason(error: OSError) -> str:
    """The reason of a failed handshake, in OpenSSL's words where it has some."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the client's certificate was refused: {error.verify_message}"
    if isinstance(error, ssl.SSLError) and error.reason:
        return f"the handshake failed: {error.reason.lower().replace('_', ' ')}"
    if isinstance(error, TimeoutError):
        return "a handshake that took too long"
    return "the client has gone"
