"""The common part of both push clients: an address, an identity, and a core while connected."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping

from penstock.client.push.calls import Call
from penstock.client.push.core import ClientCore
from penstock.client.push.errors import ClientClosed, NotConnected, RequestTimeout
from penstock.client.push.identity import new_client_id, new_epoch
from penstock.client.push.login import ClientLogin
from penstock.client.push.memberships import Membership, delivery_of, start_of
from penstock.client.push.publications import Publication
from penstock.client.security.properties import NAMES, ClientSecurity, SecurityProblem
from penstock.protocol.push.messages import BROKER_TIME
from penstock.protocol.push.properties import Properties


class PushEndpoint:
    """The base of BrokerClient and AsyncBrokerClient."""

    def __init__(
        self,
        host: str = "localhost",
        port: int = 9999,
        client_id: str | None = None,
        request_timeout: float = 30,
        heartbeat_interval: float = 30,
        *,
        security: Mapping[str, str] | None = None,
        dial: Callable[[], socket.socket] | None = None,
    ) -> None:
        """Without a `client_id` the client gets a random one. Times are in seconds.

        `security` has properties under Kafka's names, such as security.protocol and sasl.username. SecurityProblem, a
        ValueError, if they do not fit together. `dial` makes a connection to the broker, if that is not done by the
        address: for consumers in its own process.
        """
        self.dial = dial
        self.host = host
        self.port = port
        self.client_id = client_id or new_client_id()
        self.request_timeout = request_timeout
        self.heartbeat_interval = heartbeat_interval
        self._security = client_security(security or {})
        self._core: ClientCore | None = None
        self._was_closed = False

    @property
    def is_connected(self) -> bool:
        """Whether there is a connection at this moment."""
        core = self._core
        return core is not None and core.is_open

    @property
    def refusal(self) -> Exception | None:
        """Why the broker refused the last attempt to connect again: a login, a certificate, TLS.

        None while it lets this client in, and while it is away.
        """
        core = self._core
        return None if core is None else core.refusal

    def _new_core(self) -> ClientCore:
        login = ClientLogin(self._security) if self._security.has_sasl else None
        return ClientCore(
            client_id=self.client_id,
            epoch=new_epoch(),
            heartbeat_interval_s=self.heartbeat_interval,
            login=login,
        )

    def is_subscribed(self, name: str) -> bool:
        """Whether this client is a member; False after it has left, or the subscription was deleted."""
        core = self._core
        return core is not None and name in core.memberships

    def lost_subscription(self, name: str) -> Exception | None:
        """Why this client is no member any more, if it was the broker's will.

        UnknownSubscription if the subscription was deleted, another BrokerRefused if a right was taken away.
        """
        core = self._core
        return None if core is None else core.lost.get(name)

    def _running(self) -> ClientCore:
        core = self._core
        if core is not None:
            return core
        if self._was_closed:
            raise ClientClosed("this client was disconnected; call connect() to use it again")
        raise NotConnected("this client is not connected; call connect() first")

    def _membership_of_topic(
        self,
        topic: str,
        group: str | None,
        start_offset: int | str | float,
        delivery: str,
        credit: int,
        messages_per_frame: int,
    ) -> Membership:
        """A membership by topic and group; without a group, this client gets one of its own."""
        return Membership(
            target=None,
            topic=topic,
            group=group or f"{topic}-{self.client_id}",
            credit=credit,
            messages_per_frame=messages_per_frame,
            start=start_of(start_offset),
            delivery=delivery_of(delivery),
        )

    @staticmethod
    def _publication(
        core: ClientCore,
        topic: str,
        key: bytes | None,
        body: bytes | None,
        properties: Properties,
        partition: int | None,
        timestamp: int | None,
        call: Call,
    ) -> Publication:
        """A publication. Without a partition, the number of partitions must be known."""
        return Publication(
            topic=topic,
            partition=core.choose_partition(topic, key) if partition is None else partition,
            key=key,
            body=body,
            properties=properties,
            timestamp=BROKER_TIME if timestamp is None else timestamp,
            call=call,
        )

    def _timed_out(self, core: ClientCore, *, is_certain: bool) -> RequestTimeout:
        where = f"{self.host}:{self.port}"
        if not core.is_connected:
            where += ", to which there is no connection at the moment"
        outcome = "it was not sent" if is_certain else "it may have been carried out"
        if not core.was_heard and self._security.has_tls and not self._security.has_certificate:
            outcome += "; if it wants a certificate of the client, set ssl.certificate.location and ssl.key.location"
        return RequestTimeout(f"no answer within {self.request_timeout:g} s from {where}: {outcome}")


def client_security(properties: Mapping[str, str]) -> ClientSecurity:
    """The security in these properties. SecurityProblem for a name that has nothing to do with it."""
    unknown = sorted(properties.keys() - NAMES)
    if unknown:
        raise SecurityProblem(
            f"{unknown[0]} is no property of a client's security; there are {', '.join(sorted(NAMES))}"
        )
    return ClientSecurity.of(properties)
