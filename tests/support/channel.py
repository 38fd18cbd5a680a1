"""Requests without a socket: a channel with a fake stream, and requests on it, for handlers called directly."""

from __future__ import annotations

import importlib
import inspect
from types import GeneratorType
from typing import Any

from penstock.broker.broker import Broker
from penstock.broker.channel import KafkaChannel
from penstock.broker.dispatcher import Dispatcher
from penstock.broker.gate import Gate
from penstock.broker.request import AnyRequest, Request
from penstock.net.endpoint import Endpoint, Peer
from penstock.node.security.door_plans import plan_doors
from penstock.protocol.kafka.apis import APIS
from penstock.protocol.kafka.messages import encode, request_reader
from penstock.runtime.turns import begin


class FakeStream:
    """Implements `net.service.Stream`."""

    def __init__(self, local: Endpoint) -> None:
        self.peer = Peer(1, "127.0.0.1", 50_000, local)
        self.muted_seconds = 0.0
        self.has_logged_in = False

    def mute(self, seconds: float) -> None:
        self.muted_seconds += seconds

    def frame_decoded(self) -> None: ...

    def heard(self) -> None: ...

    def authenticated(self) -> None:
        self.has_logged_in = True

    def finish(self) -> None:
        raise AssertionError("no connection ends here")


def open_channel(broker: Broker, local: Endpoint, client_id: str = "test") -> KafkaChannel:
    advertised = plan_doors(broker.settings).kafka[0].advertised
    gate = Gate(Dispatcher(broker), broker.quotas, broker.access, broker.metrics, advertised=advertised)
    channel = gate.connected(FakeStream(local))
    assert channel is not None
    channel.session = channel.session.with_client_id(client_id)
    return channel


def request_on(channel: KafkaChannel, api_key: int, version: int, body: bytes) -> AnyRequest:
    """A request whose frame is its body alone."""
    return Request(APIS[api_key], version, 1, channel, memoryview(body), 0)


async def handled(broker: Broker, request: AnyRequest) -> bytes:
    """The body of the answer that the handler of the API gives."""
    key, version = request.api.key, request.version
    request.body, _ = request_reader(key, version)(bytes(request.frame), 0)
    handler = importlib.import_module(f"penstock.broker.handlers.{APIS[key].handler}").handle
    result: Any = handler(broker, request)
    if isinstance(result, GeneratorType):
        result = begin(result)
    if inspect.isawaitable(result):
        result = await result
    return bytes(result) if isinstance(result, bytes | bytearray) else encode(result)
