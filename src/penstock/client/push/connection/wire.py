"""A client's core and its socket, shared by threads: any thread sends, one at a time receives.

The order of the locks is `_sending` before `lock`. While `lock` is held, the only callback is the one that ends a wait.
"""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Callable

from penstock.client.push.connection.backoff import Backoff
from penstock.client.push.connection.port_problem import PortProblem
from penstock.client.push.connection.wire_socket import READ_BYTES, Stream
from penstock.client.push.core import ClientCore
from penstock.client.push.errors import NotConnected, ProtocolError, WrongProtocol
from penstock.client.push.events import dispatch
from penstock.client.push.identity import new_epoch

logger = logging.getLogger(__name__)

GOODBYE_S = 1.0
"""How long a client that leaves waits for the broker to close its side."""


class Wire:
    """The wire of a client from `connect` to `disconnect`, over any number of connections. `lock` guards the core."""

    def __init__(
        self,
        core: ClientCore,
        where: str,
        opened: Stream,
        open_again: Callable[[], Stream],
        port_problem: PortProblem,
    ) -> None:
        self.core = core
        self._where = where
        self._port_problem = port_problem
        self._is_told = False  # why the last connection ended, to a caller
        self.lock = threading.Lock()
        self._socket: Stream | None = opened
        self._open_again = open_again
        self._sending = threading.Lock()
        self._closing = threading.Event()
        self._ends_by: float | None = None
        self._backoff = Backoff()

    def flush(self) -> None:
        """Send everything that is ready; only the holder of the lock sends, so that frames leave in order."""
        with self._sending:
            with self.lock:
                data = self.core.data_to_send(time.monotonic())
                opened = self._socket
            if data and opened is not None:
                try:
                    opened.sendall(data)
                except OSError:
                    _shut(opened, socket.SHUT_RDWR)  # the receiving thread notices

    def leave(self, reason: str) -> None:
        """Send DISCONNECT; `receive_all` ends soon after."""
        self._closing.set()
        with self.lock:
            self.core.close(reason)
        self.flush()
        with self.lock:
            opened = self._socket
        if opened is not None:
            _shut(opened, socket.SHUT_WR)

    def receive_all(self) -> None:
        """Receive until `leave`, in a thread of its own."""
        while self._receive():
            pass

    def _receive(self) -> bool:
        """Do one read and dispatch its messages, or make one attempt to reconnect. False after `leave`."""
        opened = self._socket
        if opened is None:
            return self._connect_again()
        reason = self._receive_from(opened)
        if reason is None:
            return True
        self._drop(opened)
        if self._closing.is_set():
            return False
        if not self._is_told:
            logger.warning("connection to %s lost (%s); connecting again", self._where, reason)
        self._is_told = False
        if self.core.has_heard:
            self._backoff.reset()
        return True

    def _receive_from(self, opened: Stream) -> str | None:
        """Read once. Returns the reason if the connection has ended."""
        try:
            data: bytes | None = opened.recv(READ_BYTES)
        except BlockingIOError:
            data = None
        except OSError as error:
            return self._end_of(error)
        if data == b"":
            return self._end_of(None)
        now = time.monotonic()
        try:
            is_alive = self._take(data, now)
        except ProtocolError as error:
            self._give_up(error)
            return str(error)
        if not is_alive:
            return "the broker is silent"
        if self._closing.is_set():
            self._ends_by = self._ends_by or now + GOODBYE_S
            if now >= self._ends_by:
                return "left"
        return None

    def _end_of(self, error: OSError | None) -> str:
        """The reason for which a connection has ended. Where all others will end like it, requests are given up."""
        core = self.core
        may_explain = not core.was_answered and not self._closing.is_set()
        problem = self._port_problem.find(error, was_heard=core.was_heard) if may_explain else None
        if problem is not None:
            with self.lock:
                self._is_told = core.turned_away(WrongProtocol(problem), new_epoch())
            return problem
        return "closed by the broker" if error is None else error.strerror or str(error)

    def _give_up(self, error: ProtocolError) -> None:
        with self.lock:
            self._is_told = self.core.failed(error, new_epoch())

    def _take(self, data: bytes | None, now: float) -> bool:
        core = self.core
        with self.lock:
            events = core.received(data, now) if data else []
            is_alive = core.tick(now)
            has_output = core.has_output
        for event in events:
            dispatch(event)
        if has_output:
            self.flush()
        return is_alive

    def _drop(self, opened: Stream) -> None:
        with self.lock:
            self.core.disconnected()
            self._socket = None
        _shut(opened, socket.SHUT_RDWR)  # wakes a thread that is sending
        with self._sending:
            opened.close()

    def _connect_again(self) -> bool:
        if self._closing.wait(self._backoff.next_s()):
            return False
        try:
            opened = self._open_again()
        except NotConnected as error:
            with self.lock:
                self.core.not_connected(error)
            say = logger.debug if self.core.refusal is None else logger.error
            say("%s", error)
            return True
        with self._sending, self.lock:
            if self._closing.is_set():
                opened.close()
                return False
            self._socket = opened
            self.core.connected(time.monotonic())
        self.flush()
        return True


def _shut(opened: Stream, how: int) -> None:
    try:
        opened.shutdown(how)
    except OSError:
        pass  # closed already
