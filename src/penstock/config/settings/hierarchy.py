"""A node's place in a hierarchy of brokers, and how it follows its parent."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from penstock.config.settings.http_client import HttpClientSettings
from penstock.config.settings.secret import Secrets
from penstock.config.settings.values import (
    GIB,
    KIB,
    MIB,
    Bytes,
    Count,
    Millis,
    Url,
    no_slash,
    split_list,
    upper,
)
from penstock.model.role import Role
from penstock.model.text.http_url import check_no_credentials, check_node_url


class RegistrySettings(HttpClientSettings):
    """The node's place in a hierarchy of brokers, as it is registered (docs/hierarchy.md). The login, and whom the node
    trusts, are those of its requests to the registry."""

    url: Annotated[Url | None, BeforeValidator(no_slash)] = None
    """The registry, such as http://registry.example:8080; without one the node is on its own."""
    poll_interval_ms: Annotated[int, Field(ge=100, le=86_400_000)] = 30_000
    """Time between two requests for the node's role and parent."""
    role: Annotated[Role | None, BeforeValidator(upper)] = None
    """ROOT, L2, L3, POS or LOCAL; without one the registry derives it from the node's name, or takes LOCAL."""
    site: Annotated[str | None, Field(max_length=256)] = None
    """Location of the node, widest part first, such as eu/berlin/shop-7; parents that share more are preferred."""
    advertised_url: Annotated[Annotated[str, AfterValidator(check_node_url)] | None, BeforeValidator(no_slash)] = None
    """URL of this node's HTTP port for its children; without one the address of the port, https where it has TLS. Where
    that is every address: with TLS the host of kafka.advertised, otherwise the address that the registry sees."""

    @model_validator(mode="after")
    def _is_protected(self) -> Self:
        self.check_url(self.url, "registry")
        return self


Patterns = Annotated[tuple[str, ...], BeforeValidator(split_list)]


class PipeSettings(HttpClientSettings):
    """How this node follows its parent (docs/hierarchy.md). The login, and whom the node trusts, are those of its
    requests to the parent."""

    parent_url: Annotated[Annotated[str, AfterValidator(check_no_credentials)] | None, BeforeValidator(no_slash)] = None
    """The parent's HTTP port, such as http://root.example:8080, or, with type: kafka, host:port of a broker.
    Without one the parent is the one that the registry names."""
    type: Annotated[str, Field(min_length=1)] = "http"
    """The connector to the parent: http, kafka, or the name of an entry point penstock.pipe."""
    client_properties: Secrets = Field(default_factory=dict)
    """With type: kafka, properties of the client under Kafka's names: security.protocol, sasl.mechanism, sasl.username,
    sasl.password, ssl.truststore.location … Values may be file:PATH or env:NAME, and none is shown."""
    topics: Patterns = ("*",)
    """Topics to mirror, as patterns such as prices-*; internal topics are never mirrored."""
    exclude: Patterns = ()
    """Exceptions from pipe.topics."""
    poll_interval_ms: Annotated[int, Field(ge=10, le=3_600_000)] = 1_000
    """Pause after an error. Otherwise there is no pause: the next request waits at the parent for data."""
    batch_size: Annotated[int, Field(ge=1, le=1_000_000)] = 1_000
    """Most record batches in one answer."""
    answer_bytes_max: Annotated[Bytes, Field(ge=64 * KIB, le=GIB)] = 4 * MIB
    """Most bytes in one answer; a single larger batch is still sent. The limits of both sides apply."""
    wait_ms: Annotated[int, Field(ge=100, le=60_000)] = 5_000
    """How long the parent may wait for data before it answers without any."""
    timeout_ms: Annotated[int, Field(ge=100, le=600_000)] = 5_000
    """A parent that has not answered this long after wait_ms has failed."""
    pulls_max: Count = 1_000
    """Requests of children under way at a time, each until its answer has been read; more are refused. Where
    children log in, no principal has more of them than it leaves to others."""
    degraded_failures: Count = 1
    """Failures in a row after which the pipe is DEGRADED."""
    degraded_lag_ms: Millis = 10_000
    """Lag behind the parent that makes the pipe DEGRADED."""
    unhealthy_failures: Count = 5
    """Failures in a row after which the pipe is UNHEALTHY, and the next parent is tried if there is one."""
    unhealthy_lag_ms: Millis = 60_000
    """Lag behind the parent that makes the pipe UNHEALTHY."""
    healthy_successes: Count = 3
    """Answers in a row after which the pipe is HEALTHY again."""

    @model_validator(mode="after")
    def _fit_the_type(self) -> Self:
        http = set(HttpClientSettings.model_fields) & self.model_fields_set
        if self.type == "kafka" and any(getattr(self, name) is not None for name in http):
            raise ValueError(
                f"pipe.{min(http)} is for type: http; with type: kafka everything about security is in"
                " pipe.client_properties, under Kafka's names"
            )
        if self.type == "http" and self.client_properties:
            raise ValueError(
                "pipe.client_properties are for type: kafka; with type: http use pipe.ca_file, pipe.username, …"
            )
        if self.type == "http":
            self.check_url(self.parent_url, "pipe")
        return self
