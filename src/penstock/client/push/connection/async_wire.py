"""A client's core and its transport on an event loop; `wire` is the same for threads.

Everything happens on the loop that `start` was called on: the core needs no lock.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable

from penstock.client.push.calls import Call
from penstock.client.push.connection.backoff import Backoff
from penstock.client.push.connection.port_problem import PortProblem
from penstock.client.push.connection.wire_socket import connected, unreachable
from penstock.client.push.core import ClientCore
from penstock.client.push.endpoint import PushEndpoint
from penstock.client.push.errors import NotConnected, ProtocolError, WrongProtocol
from penstock.client.push.events import dispatch
from penstock.client.push.identity import new_epoch
from penstock.client.security.properties import ClientSecurity, SecurityProblem
from penstock.client.security.tls import client_context

logger = logging.getLogger(__name__)

GOODBYE_S = 1.0
"""How long a client that leaves waits for the broker to close its side."""
DUE_AFTER_S = 0.5
A_MOMENT_S = 0.001  # so that a timer is not a little early


class AsyncWire:
    """The wire of a client from `connect` to `disconnect`, over any number of connections."""

    def __init__(self, core: ClientCore, endpoint: PushEndpoint, security: ClientSecurity) -> None:
        self.core = core
        self._endpoint = endpoint
        self._security = security
        self._port_problem = PortProblem(endpoint.host, endpoint.port, security, endpoint.request_timeout)
        self._transport: asyncio.Transport | None = None
        self._task: asyncio.Task[None] | None = None
        self._gone: asyncio.Event = asyncio.Event()
        self.woken = asyncio.Event()
        """Ends the sleep of `_keep`: the connection has ended, or something is due before the sleep would be over."""
        self._sleeps_until = math.inf
        self.ended_by: Exception | None = None
        """The error of the connection that was lost last."""
        self._is_flushing = False
        self._has_due_timer = False

    async def start(self) -> None:
        """Connect and log in, and stay connected from then on. Raises NotConnected if there is no broker."""
        logged_in = asyncio.Event()
        call = Call(logged_in.set)
        self.core.await_login(call)
        await self._open()
        self._task = asyncio.create_task(self._keep(), name="push-connection")
        try:
            async with asyncio.timeout(self._endpoint.request_timeout):
                await logged_in.wait()
            call.result()
        except BaseException as error:
            self._task.cancel()
            self._abort()
            if isinstance(error, TimeoutError):
                raise NotConnected("no answer to the login in time") from error
            problem = await self._find_problem() if isinstance(error, NotConnected) else None
            if problem is not None:
                raise WrongProtocol(problem) from error
            raise

    async def leave(self, reason: str) -> None:
        """Send DISCONNECT, and wait a little for the broker to close the connection."""
        core = self.core
        core.close(reason)
        self.flush()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        transport = self._transport
        if transport is not None and core.is_connected:
            if transport.can_write_eof():
                transport.write_eof()
            else:
                transport.close()  # of TLS, which sends what is left first
            try:
                await asyncio.wait_for(self._gone.wait(), GOODBYE_S)
            except TimeoutError:
                transport.abort()

    # --- out ---------------------------------------------------------------------------------------------------------

    def flush_soon(self) -> None:
        """Schedule one flush for all requests of this turn of the loop."""
        if not self._is_flushing:
            self._is_flushing = True
            asyncio.get_running_loop().call_soon(self.flush)

    def flush(self) -> None:
        self._is_flushing = False
        data = self.core.data_to_send(time.monotonic())
        if data and self._transport is not None:
            self._transport.write(data)

    # --- in ----------------------------------------------------------------------------------------------------------

    def received(self, data: bytes) -> None:
        core = self.core
        try:
            events = core.received(data, time.monotonic())
        except ProtocolError as error:
            logger.error("%s", error)
            core.failed(error, new_epoch())
            self._abort()
            return
        for event in events:
            dispatch(event)
        if core.has_output:
            self.flush()
        if core.login_due_at < self._sleeps_until:
            self.woken.set()
        if core.has_due_work and not self._has_due_timer:
            self._has_due_timer = True
            asyncio.get_running_loop().call_later(DUE_AFTER_S, self._run_due)

    def _run_due(self) -> None:
        self._has_due_timer = False
        if self.core.is_connected and self.core.tick(time.monotonic()):
            self.flush()

    # --- the connection ----------------------------------------------------------------------------------------------

    async def _open(self) -> None:
        core, endpoint = self.core, self._endpoint
        gone = self._gone = asyncio.Event()
        try:
            async with asyncio.timeout(endpoint.request_timeout):
                transport = await self._connect(lambda: _Protocol(self, gone))
        except OSError as error:  # a timeout is one
            raise unreachable(endpoint.host, endpoint.port, error, self._security) from error
        except SecurityProblem as problem:
            raise NotConnected(str(problem)) from problem
        self._transport = transport
        if core.is_connected:  # the previous connection ended before it was used
            core.disconnected()
        core.connected(time.monotonic())
        self.flush()

    async def _connect(self, make: Callable[[], asyncio.Protocol]) -> asyncio.Transport:
        loop = asyncio.get_running_loop()
        host, port = self._endpoint.host, self._endpoint.port
        if self._endpoint.dial is not None:
            return (await loop.create_connection(make, sock=self._endpoint.dial()))[0]
        if port and self._security.has_tls:
            context = await asyncio.to_thread(client_context, self._security)
            return (await loop.create_connection(make, host, port, ssl=context, server_hostname=host))[0]
        if port:
            return (await loop.create_connection(make, host, port))[0]
        stream = await asyncio.to_thread(connected, host, port, self._endpoint.request_timeout)
        stream.setblocking(False)
        return (await loop.create_connection(make, sock=stream))[0]

    def _abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    async def _keep(self) -> None:
        """Send heartbeats while there is a connection, and try to connect while there is none."""
        core, endpoint = self.core, self._endpoint
        backoff = Backoff()
        while True:
            await self._sleep_until_due()
            is_ended = self._gone.is_set()
            if not is_ended:
                if core.tick(time.monotonic()):
                    self.flush()
                    continue
                logger.warning("the broker has been silent for %.0f s", 3 * endpoint.heartbeat_interval)
                self._abort()
                await self._gone.wait()
            problem = await self._find_problem() if is_ended else None
            if problem is None or not core.turned_away(WrongProtocol(problem), new_epoch()):
                why = "" if problem is None else f" ({problem})"
                logger.warning("connection to %s:%d lost%s; connecting again", endpoint.host, endpoint.port, why)
            if core.has_heard:
                backoff.reset()
            await self._reconnect(backoff)

    async def _sleep_until_due(self) -> None:
        """Sleep until something is due by the time, or until `woken`."""
        self.woken.clear()
        now = time.monotonic()
        due_in_s = self.core.due_in(now) + A_MOMENT_S
        self._sleeps_until = now + due_in_s
        if self._gone.is_set():
            return
        try:
            async with asyncio.timeout(due_in_s):
                await self.woken.wait()
        except TimeoutError:
            pass

    async def _find_problem(self) -> str | None:
        core = self.core
        if core.was_answered or self._endpoint.dial is not None:
            return None
        return await asyncio.to_thread(self._port_problem.find, self.ended_by, was_heard=core.was_heard)

    async def _reconnect(self, backoff: Backoff) -> None:
        while True:
            await asyncio.sleep(backoff.next_s())
            try:
                return await self._open()
            except NotConnected as error:
                self.core.not_connected(error)
                say = logger.debug if self.core.refusal is None else logger.error
                say("%s", error)


class _Protocol(asyncio.Protocol):
    """The protocol object that asyncio drives, one for each connection."""

    def __init__(self, wire: AsyncWire, gone: asyncio.Event) -> None:
        self._wire = wire
        self._gone = gone

    def data_received(self, data: bytes) -> None:
        self._wire.received(data)

    def connection_lost(self, error: Exception | None) -> None:
        self._wire.ended_by = error
        self._wire.core.disconnected()
        self._gone.set()
        self._wire.woken.set()
