"""TLS of listeners: certificates, and what clients have to show."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from penstock.config.settings.secret import Secret
from penstock.config.settings.values import Section


def _lower(value: object) -> object:
    return value.strip().lower() if isinstance(value, str) else value


class TlsSettings(Section):
    """Files are PEM, and are read again when they change. A listener has TLS by its protocol (docs/security.md#tls)."""

    certificate_file: Path | None = None
    """Certificate of the node, followed by those of the authorities between it and the one that clients trust. Kafka's
    ssl.keystore.location, of the type PEM."""
    key_file: Path | None = None
    """Private key of the certificate, for its user only (mode 600); in the certificate's file if it is not set."""
    key_password: Secret | None = None
    """Password of the private key, if it has one: Kafka's ssl.key.password."""
    client_auth: Annotated[Literal["none", "requested", "required"], BeforeValidator(_lower)] = "none"
    """Whether clients show a certificate: none, requested, required. Kafka's ssl.client.auth."""
    client_ca_file: Path | None = None
    """Authorities whose certificates clients may show: Kafka's ssl.truststore.location, of the type PEM."""
    crl_file: Path | None = None
    """Lists of revoked certificates, one of every authority in the chain of a client; an outdated list refuses all."""
    oldest_version: Literal["1.2", "1.3"] = "1.2"
    """Oldest version of TLS that clients may use."""
    ciphers: Annotated[str, Field(min_length=1)] = "ECDHE+AESGCM:ECDHE+CHACHA20"
    """Ciphers for TLS 1.2, as OpenSSL writes them: ECDHE with authenticated encryption; those of 1.3 are all good."""
    principal_mapping_rules: str = "DEFAULT"
    """Rules from the subject of a client's certificate to its principal: Kafka's ssl.principal.mapping.rules."""
    handshake_timeout_ms: Annotated[int, Field(ge=100, le=60_000)] = 10_000
    """Time that a client has for its handshake, from the moment at which it connects."""
    reload_interval_ms: Annotated[int, Field(ge=100)] = 10_000
    """How often the files are looked at for changes; SIGHUP does it at once."""
