"""One request on its way through the broker, as a handler sees it.

A handler module has one function, `handle(broker, call)`. It returns the response entity (built with `call.reply`),
or an awaitable of it:

- `def handle` that returns a value: answered at once.
- `async def handle`: the connection's next request starts only when this one is answered, as in Kafka.
- Produce and Fetch are special: they do their work at once and return a future, so that waits overlap while
  answers still leave in order.

A KafkaError raised out of a handler is our bug: every API has its own place for error codes.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.protocol.kafka.messages import Entity, Messages


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address as clients see it."""

    host: str
    port: int


@dataclass(slots=True)
class Caller:
    """Who is on the other side of a connection. `local` is the address the client reached us at."""

    connection_id: int
    peer_host: str
    local: Endpoint
    listener: str = "PLAINTEXT"
    principal: str = "User:ANONYMOUS"
    software_name: str = ""
    software_version: str = ""


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
