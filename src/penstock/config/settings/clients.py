"""Settings of consumers in the broker's process, and of the clients of the command line."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from penstock.config.settings.acl import check_principal
from penstock.config.settings.values import INT32_MAX, Bytes, Count, Section, split_list


class HostedConsumerSettings(Section):
    """Consumers inside the broker process; `penstock consumers run` runs them in a process of their own."""

    modules: Annotated[tuple[str, ...], BeforeValidator(split_list)] = ()
    """Modules whose consumers run in the broker process, by name or path."""
    principal: Annotated[str, AfterValidator(check_principal)] = "User:ANONYMOUS"
    """The principal that these consumers act as, such as User:till: they need its rights (docs/security.md#rights), and
    no login."""


class ClientSettings(Section):
    """Settings of the command line's push clients; a broker does not use them."""

    request_timeout_ms: Count = 30_000
    """How long a client waits for an answer."""
    heartbeat_interval_ms: Annotated[int, Field(ge=100)] = 30_000
    """A client that has sent nothing for this long sends a heartbeat."""


class ProducerSettings(Section):
    """Settings of `penstock produce`; a broker does not use them. Programs pass them to `penstock.Producer`."""

    batch_size: Annotated[Bytes, Field(ge=1, le=INT32_MAX)] | None = None
    """Most bytes of a batch; librdkafka's default if it is not set."""
    linger_ms: Annotated[int, Field(ge=0, le=30_000)] | None = None
    """How long a message waits for others to join its batch; 5 if it is not set."""


class ConsumerSettings(Section):
    """Settings of `penstock consume --group`; a broker does not use them. Programs pass them to `penstock.Consumer`."""

    session_timeout_ms: Annotated[int, Field(ge=1, le=300_000)] | None = None
    """A member that has sent nothing for this long leaves its group; without a value, librdkafka's default."""
    heartbeat_interval_ms: Annotated[int, Field(ge=1, le=300_000)] | None = None
    """Time between two heartbeats of a member; librdkafka's default if it is not set."""
