"""How clients log in where a listener has SASL."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import BeforeValidator, Field, field_validator

from penstock.config.settings.values import Millis, Section, split_list
from penstock.model import limits


class SaslMechanism(StrEnum):
    SCRAM_SHA_256 = "SCRAM-SHA-256"
    SCRAM_SHA_512 = "SCRAM-SHA-512"
    PLAIN = "PLAIN"


class SaslSettings(Section):
    """Users are made with `penstock security user`."""

    enabled_mechanisms: Annotated[tuple[SaslMechanism, ...], BeforeValidator(split_list), Field(min_length=1)] = (
        SaslMechanism.SCRAM_SHA_256,
        SaslMechanism.SCRAM_SHA_512,
    )
    """Mechanisms that clients are offered: SCRAM-SHA-256, SCRAM-SHA-512, PLAIN. PLAIN sends the password itself: only
    with TLS, or within one machine."""
    failed_authentication_delay_ms: Annotated[Millis, Field(le=10_000)] = 100
    """Time before a client learns that its login has failed: Kafka's connection.failed.authentication.delay.ms."""
    reauthentication_ms_max: Millis = 0
    """Time within which a client has to log in again on its connection (KIP-368), or be disconnected; 0: it need not.
    Kafka's connections.max.reauth.ms."""
    scram_iterations: Annotated[int, Field(ge=limits.SCRAM_ITERATIONS_MIN, le=limits.SCRAM_ITERATIONS_MAX)] = 8_192
    """Iterations of the credentials of users that are made with these settings, and of the answers to names that are no
    user's. More make guessing slower, and logins, too."""

    @field_validator("enabled_mechanisms")
    @classmethod
    def _once(cls, value: tuple[SaslMechanism, ...]) -> tuple[SaslMechanism, ...]:
        return tuple(dict.fromkeys(value))
