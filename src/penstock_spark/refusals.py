"""Refusals of a broker in a sentence or two: the reason, and what mends it.

Without this, Spark shows the forty lines of our client's own traceback, with the reason somewhere among them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from penstock.client.security.properties import ClientSecurity
from penstock.model.errors import ErrorCode, KafkaError
from penstock_spark.errors import AccessRefused

OWN_NAMES = "penstock-"
"""With which transactional ids of exactly-once writing begin."""
_ALLOW = "penstock security acl add --allow-principal"


@contextmanager
def plain_refusals(security: ClientSecurity) -> Iterator[None]:
    """Raise AccessRefused, without the way to it, if a broker does not let us in or denies a right."""
    try:
        yield
    except KafkaError as error:
        remedy = remedy_of(error, security)
        if remedy is None:
            raise
        raise AccessRefused(f"{error}. {remedy}") from None


def remedy_of(error: KafkaError, security: ClientSecurity) -> str | None:
    """What mends a refusal; None for an error that is none."""
    who = f"User:{security.username}" if security.has_sasl else "PRINCIPAL"
    match error.code:
        case ErrorCode.SASL_AUTHENTICATION_FAILED | ErrorCode.UNSUPPORTED_SASL_MECHANISM | ErrorCode.ILLEGAL_SASL_STATE:
            return "As options of Spark, these names begin with kafka."  # our client has told the rest
        case ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            need = "Reading needs Read of the topic, writing Write, and exactly-once both of __penstock_markers and"
            return f"{need} __penstock_staging: {_ALLOW} {who} --operation Read --topic TOPIC"
        case ErrorCode.GROUP_AUTHORIZATION_FAILED:
            return f"Progress in a group needs Read of the group: {_ALLOW} {who} --operation Read --group GROUP"
        case ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
            rule = f"--operation Write --transactional-id {OWN_NAMES} --resource-pattern-type prefixed"
            return f"Exactly-once needs Write of transactional ids with this prefix: {_ALLOW} {who} {rule}"
        case ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            return f"Writing needs Write of the topic, or IdempotentWrite: {_ALLOW} {who} --producer --topic TOPIC"
    return None
