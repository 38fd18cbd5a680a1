"""One request on its way through the broker, as a handler sees it.

A handler module has one function, `handle(broker, call)`. It returns the response entity (built with `call.reply`),
or an awaitable of it:

- `def handle` that returns a value: answered at once.
- `async def handle`: the connection's next request starts only when this one is answered, as in Kafka.
- Either may return bytes instead of an entity: a body that is encoded already.
- Produce and Fetch are special (see their files): they do their work at once and return a `Pending`, so that waits
  overlap while answers still leave in order.

A KafkaError raised out of a handler is our bug: every API has its own place for error codes.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.net.caller import Caller, Endpoint
from penstock.protocol.kafka.messages import Entity, Messages


@dataclass(slots=True)
class Call:
    """A decoded request, what it needs to be answered, and who asked."""

    api_key: int
    version: int
    correlation_id: int
    client_id: str | None
    caller: Caller
    request: Entity
    reply: Messages


__all__ = ["Call", "Caller", "Endpoint"]
