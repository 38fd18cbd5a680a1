"""A producer's settings as librdkafka's, with a check for contradictions."""

from __future__ import annotations

from typing import Any

from penstock.sdk.errors import SettingsError
from penstock.sdk.librdkafka.common_config import common_config
from penstock.sdk.options import ProducerOptions

_ACKS = {"none": 0, "leader": 1, "all": -1}


def producer_config(bootstrap: str, options: ProducerOptions, given: set[str]) -> dict[str, Any]:
    """`given` are the names that did not come from the defaults."""
    _check(options, given)
    idempotent = options.get("idempotent", options["acks"] == "all")
    timeout_ms = options["delivery_timeout_ms"]
    config: dict[str, Any] = {
        **common_config(bootstrap, options),
        "acks": _ACKS[options["acks"]],
        "enable.idempotence": idempotent,
        "partitioner": "murmur2_random",
        "batch.size": options["batch_size"],
        "linger.ms": options["linger_ms"],
        "message.send.max.retries": options["retries"],
        "retry.backoff.ms": options["retry_backoff_ms"],
        "retry.backoff.max.ms": options["retry_backoff_max_ms"],
        "compression.type": options["compression"],
        "message.max.bytes": options["max_message_bytes"],
        "queue.buffering.max.messages": options["queue_messages"],
        "queue.buffering.max.kbytes": max(1, options["queue_bytes"] // 1024),
    }
    if "transactional_id" in options:
        timeout_ms = min(timeout_ms, options["transaction_timeout_ms"])
        config["transactional.id"] = options["transactional_id"]
        config["transaction.timeout.ms"] = options["transaction_timeout_ms"]
    config["message.timeout.ms"] = timeout_ms
    return config


def _check(options: ProducerOptions, given: set[str]) -> None:
    transactional, acks = "transactional_id" in options, options["acks"]
    if transactional and acks != "all":
        raise SettingsError(f"acks={acks!r} with a transactional_id", hint='transactions need acks="all"; leave it out')
    if transactional and options.get("idempotent") is False:
        raise SettingsError("idempotent=False with a transactional_id", hint="transactions need it; leave it out")
    if options.get("idempotent") and acks != "all":
        raise SettingsError(f"idempotent=True with acks={acks!r}", hint='it needs acks="all"; change one of them')
    if options.get("idempotent", acks == "all") and options["retries"] == 0:
        raise SettingsError("retries=0 with an idempotent producer", hint="say idempotent=False as well")
    if "transaction_timeout_ms" in given and not transactional:
        raise SettingsError("transaction_timeout_ms without a transactional_id", hint="give a transactional_id")
    if {"delivery_timeout_ms", "transaction_timeout_ms"} <= given:
        _ordered(options, "delivery_timeout_ms", "transaction_timeout_ms")
    _ordered(options, "linger_ms", "delivery_timeout_ms")
    _ordered(options, "retry_backoff_ms", "retry_backoff_max_ms")


def _ordered(options: ProducerOptions, less: str, more: str) -> None:
    values: dict[str, Any] = {**options}
    if values[less] > values[more]:
        raise SettingsError(f"{less}={values[less]} is more than {more}={values[more]}", hint="change one of them")
