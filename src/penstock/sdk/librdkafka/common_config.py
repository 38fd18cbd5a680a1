"""Settings of librdkafka that all clients of the SDK share: brokers, client id, logging."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from penstock.client.address import parse_addresses
from penstock.client.security.properties import NAMES, ClientSecurity, SecurityProblem, for_librdkafka, is_ours
from penstock.model.text.http_url import has_credentials
from penstock.sdk.arguments import is_text
from penstock.sdk.errors import SettingsError
from penstock.sdk.options import ClientOptions

logger = logging.getLogger("penstock.sdk")
logger.addHandler(logging.NullHandler())  # otherwise librdkafka's lines go to stderr in programs without logging

_WITH_A_NAME = {
    "acks": "acks",
    "auto.offset.reset": "start",
    "batch.size": "batch_size",
    "bootstrap.servers": "the first argument",
    "client.id": "client_id",
    "compression.codec": "compression",
    "compression.type": "compression",
    "delivery.timeout.ms": "delivery_timeout_ms",
    "enable.auto.commit": "auto_commit",
    "enable.auto.offset.store": "delivery",
    "enable.idempotence": "idempotent",
    "group.id": "group",
    "group.instance.id": "instance_id",
    "heartbeat.interval.ms": "heartbeat_interval_ms",
    "isolation.level": "isolation",
    "linger.ms": "linger_ms",
    "max.poll.interval.ms": "max_poll_interval_ms",
    "message.max.bytes": "max_message_bytes",
    "message.send.max.retries": "retries",
    "message.timeout.ms": "delivery_timeout_ms",
    "partition.assignment.strategy": "assignor",
    "partitioner": "partitioner",
    "queue.buffering.max.kbytes": "queue_bytes",
    "queue.buffering.max.messages": "queue_messages",
    "queue.buffering.max.ms": "linger_ms",
    "request.required.acks": "acks",
    "retries": "retries",
    "retry.backoff.max.ms": "retry_backoff_max_ms",
    "retry.backoff.ms": "retry_backoff_ms",
    "session.timeout.ms": "session_timeout_ms",
    "transaction.timeout.ms": "transaction_timeout_ms",
    "transactional.id": "transactional_id",
}


def common_config(bootstrap: str, options: ClientOptions) -> dict[str, Any]:
    try:
        parse_addresses(bootstrap)
    except (ValueError, AttributeError) as error:
        given = "" if has_credentials(str(bootstrap)) else f"={bootstrap!r}"
        raise SettingsError(f"bootstrap{given}: {error}") from None
    return {
        "bootstrap.servers": bootstrap,
        "client.id": options["client_id"],
        "log.connection.close": False,
        "reconnect.backoff.max.ms": 1_000,
        # Otherwise librdkafka 2.16 recreates its brokers when the last one is gone, but keeps the old object as the
        # group's coordinator, and waits for it in vain.
        "metadata.recovery.strategy": "none",
        **_secured(_checked(options["config"])),
    }


def client_security(options: ClientOptions) -> ClientSecurity | None:
    """What our own client makes of the settings; None if only librdkafka knows them."""
    texts = _texts(options["config"])
    return ClientSecurity.of(texts) if is_ours(texts) or not texts else None


def _checked(config: Mapping[str, Any]) -> Mapping[str, Any]:
    for name, value in config.items():
        if not is_text(name) or (isinstance(value, str) and not is_text(value)):
            hint = "both are text that UTF-8 has, without a zero"
            raise SettingsError(f"config[{name!r}]={value!r}", hint=hint)
        if name in _WITH_A_NAME:
            raise SettingsError(f"config[{name!r}] has a name of its own", hint=f"use {_WITH_A_NAME[name]}")
    return config


def _secured(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Settings of security under librdkafka's names: those of Java's client are taken, too."""
    try:
        return {
            **{name: value for name, value in config.items() if name not in NAMES},
            **for_librdkafka(_texts(config)),
        }
    except SecurityProblem as problem:
        raise SettingsError(f"config: {problem}") from None


def _texts(config: Mapping[str, Any]) -> dict[str, str]:
    """The settings of security as text."""
    return {name: str(value) for name, value in config.items() if name in NAMES}
