"""The way in for Kafka requests: from a frame to a request with a session, through the quotas, to the dispatcher.

Implements `net.service.Service`. The chain is the same for every API:

    frame > header > authenticated session > throttle, while quotas are set > dispatcher > handler, which authorizes
"""

from __future__ import annotations

import logging

from penstock.broker.channel import KafkaChannel
from penstock.broker.dispatcher import Dispatcher, refuse_version
from penstock.broker.login.channel import SaslChannel
from penstock.broker.login.login import Login
from penstock.broker.quotas.quotas import Quotas
from penstock.broker.quotas.throttle import Throttle
from penstock.broker.request import AnyRequest, Request
from penstock.net.endpoint import Endpoint
from penstock.net.login.logins import Logins
from penstock.net.reply import Reply
from penstock.net.service import Stream
from penstock.observability.metrics import BrokerMetrics
from penstock.observability.repeats import STRANGERS_LINES_MAX, Repeats
from penstock.protocol.kafka.apis import APIS, Api
from penstock.protocol.kafka.headers import body_start, read_request_header
from penstock.protocol.kafka.primitives import MalformedRequest
from penstock.security.access import Access
from penstock.security.authenticator import Anonymous, AuthenticationFailed
from penstock.security.listener import PLAINTEXT, ListenerSecurity, SecurityProtocol
from penstock.security.principal import ANONYMOUS
from penstock.security.session import Session
from penstock.security.tls.certified import certified_login

logger = logging.getLogger(__name__)


class Gate:
    """One for a listener. `logins` are needed by one with SASL."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        quotas: Quotas,
        access: Access,
        metrics: BrokerMetrics,
        listener: ListenerSecurity = PLAINTEXT,
        logins: Logins | None = None,
        advertised: Endpoint | None = None,
    ) -> None:
        assert (logins is not None) is listener.protocol.has_sasl
        self._listener = listener
        self.advertised = advertised
        """The address that clients of this listener are given; None: the one they came in on."""
        self._logins = logins
        self._dispatcher = dispatcher
        self.answered = metrics.requests.observe
        self._quotas = quotas
        self._access = access
        self._is_open = listener.protocol is SecurityProtocol.PLAINTEXT and isinstance(access.authenticator, Anonymous)
        self._refused_lines = Repeats(logger, lines_max=STRANGERS_LINES_MAX)
        self.throttle: Throttle | None = None
        """The step that is in the chain while clients have quotas: without any, requests do not pay for it."""
        quotas.subscribe(self._quotas_changed)
        self._quotas_changed()

    def _quotas_changed(self) -> None:
        if not self._quotas.limits_clients:
            self.throttle = None
        elif self.throttle is None:
            self.throttle = Throttle(self._quotas)

    def connected(self, stream: Stream) -> KafkaChannel | None:
        peer = stream.peer
        if self._is_open:  # nobody to ask: the session that `Anonymous` would return
            return KafkaChannel(self, stream, Session(self._listener.name, peer.host, peer.port, ANONYMOUS, None, True))
        session = Session(listener=self._listener.name, host=peer.host, port=peer.port)
        if self._logins is not None:
            return SaslChannel(self, stream, session, Login(self._logins, self._listener))
        try:
            if self._listener.protocol is SecurityProtocol.SSL:
                rules, audit = self._listener.principal_rules, self._access.audit
                session = certified_login(session, peer.certificate, rules, audit)
            else:
                session = self._access.authenticate(session)
        except AuthenticationFailed as failure:
            self._refused_lines.warning("refused", "refused %s: %s", peer.host, failure)
            return None
        return KafkaChannel(self, stream, session)

    def serve(self, frame: memoryview, channel: KafkaChannel) -> Reply:
        header = read_request_header(frame)
        api = APIS.get(header.api_key)
        if api is None or not api.accepts(header.version):
            return refuse_version(header, api)
        session = channel.session
        if header.client_id != session.client_id:
            session = session.with_client_id(header.client_id)
            channel.renew(session)
        if not session.authenticated:
            self._admit(channel, api)
        start = body_start(frame, header, api)
        request: AnyRequest = Request(api, header.version, header.correlation_id, channel, frame, start)
        if self.throttle is None or not session.authenticated:  # a login is not throttled, as in Kafka
            return self._dispatcher.dispatch(request)
        return self.throttle.serve(request, self._dispatcher.dispatch)

    def _admit(self, channel: KafkaChannel, api: Api) -> None:
        if isinstance(channel, SaslChannel):
            channel.login.admit(api)
            return
        try:
            self._access.admit(channel.session, api.name)
        except AuthenticationFailed as failure:
            raise MalformedRequest(f"{api.name} before the client has logged in: {failure}") from None

    def refusal_delay(self, host: str) -> float:
        quotas = self._quotas
        if not quotas.addresses:
            return 0.0
        wait_ms = quotas.addresses.connected(host, quotas.now_ms())
        if wait_ms:
            quotas.probe.throttled("connection", None, wait_ms / 1000)
        return wait_ms / 1000
