"""One request on its way through the broker, as a handler sees it.

A handler module has one function, `handle(broker, request)`, for every API. Its answer becomes a `Reply`:

- A response entity (built with `request.reply`), which the dispatcher encodes, or a body that is encoded already: a
  reply that is ready.
- `async def handle`, or a coroutine of either: the connection's next request starts only when this one is answered, as
  in Kafka.
- A `Reply` of the handler's own. Produce and Fetch do their work at once and complete theirs later, so that waits
  overlap while answers still leave in order.

A KafkaError raised out of a handler is our bug: every API has its own place for error codes.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock.net.reply import Reply
from penstock.protocol.kafka.apis import Api
from penstock.protocol.kafka.messages import Entity, response_messages
from penstock.runtime.turns import Steps

if TYPE_CHECKING:
    from penstock.broker.channel import KafkaChannel
    from penstock.broker.quotas.metered_request import MeteredRequest

Body = TypeVar("Body")
Replies = TypeVar("Replies")
Answer = Entity | bytes | Reply
HandlerResult = Answer | Coroutine[Any, Any, Answer] | Steps[Answer]
"""Steps are short as a rule: the dispatcher does them at once, or in turns if there are many."""


class Request(Generic[Body, Replies]):
    """The parsed header, the session that asks, and the body: decoded by the dispatcher before the handler is called.

    Produce and Fetch have codecs of their own: they find their body in `frame`, from `body_start` on. Its memory is
    reused when the handler has returned.
    """

    __slots__ = (
        "api", "body", "body_start", "channel", "correlation_id", "frame", "meter", "session", "throttled_until_ms",
        "version",
    )  # fmt: skip

    body: Body

    def __init__(
        self, api: Api, version: int, correlation_id: int, channel: KafkaChannel, frame: memoryview, body_start: int
    ) -> None:
        self.api = api
        self.version = version
        self.correlation_id = correlation_id
        self.channel = channel
        self.session = channel.session
        self.frame = frame
        self.body_start = body_start
        self.meter: MeteredRequest | None = None
        """The meter of the request's cost, while quotas are set."""
        self.throttled_until_ms = 0
        """Set by a handler that finds its client over a quota which only it knows of; on the clock of quotas."""

    def take_body(self) -> Body:
        """The body, which is not kept any longer: for requests that wait and have taken from it what they need."""
        body = self.body
        del self.body
        return body

    @property
    def client_id(self) -> str | None:
        return self.session.client_id

    @property
    def is_flexible(self) -> bool:
        """Whether this version has compact strings and tagged fields."""
        return self.version >= self.api.flexible

    @property
    def reply(self) -> Replies:
        """Builders of the entities of a response in this version (`penstock.protocol.kafka.replies`)."""
        builders: Any = response_messages(self.api.key, self.version)  # without `cast`, which is a call
        return builders  # type: ignore[no-any-return]


AnyRequest = Request[Any, Any]
