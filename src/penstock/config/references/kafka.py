"""Kafka's own names for settings of a broker, as they stand in its server.properties."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.config.references.entry import TEXT, Becomes, Entry, NoEffect, Values

_AUTHORIZERS = frozenset(
    {"org.apache.kafka.metadata.authorizer.StandardAuthorizer", "kafka.security.authorizer.AclAuthorizer"}
)


def _authorizer(value: object) -> object:
    """True for Kafka's authorizer with rules, false for none. The type check refuses other classes."""
    name = str(value).strip()
    return name in _AUTHORIZERS if not name or name in _AUTHORIZERS else value


def _oldest_version(value: object) -> object:
    """The oldest of TLSv1.2,TLSv1.3; the type check refuses what is older."""
    versions = sorted(part.strip().removeprefix("TLSv") for part in str(value).split(",") if part.strip())
    return versions[0] if versions else value


_PEM = Values("PEM; convert a JKS or PKCS12 store with `openssl pkcs12`", lambda value: str(value).upper() == "PEM")
_NO_OTHERS = "this node is the only broker, and opens no connections to others"

KEYS: Mapping[str, Entry] = {
    "listeners": Becomes(("listeners.addresses",)),
    "advertised.listeners": Becomes(("listeners.advertised",)),
    "listener.security.protocol.map": Becomes(("listeners.protocols",)),
    "inter.broker.listener.name": NoEffect(TEXT, _NO_OTHERS),
    "security.inter.broker.protocol": NoEffect(TEXT, _NO_OTHERS),
    "sasl.mechanism.inter.broker.protocol": NoEffect(TEXT, _NO_OTHERS),
    "ssl.keystore.type": NoEffect(_PEM, "all files are PEM", usual="PEM"),
    "ssl.keystore.location": Becomes(("tls.certificate_file",), note="PEM, with the key in it or in `tls.key_file`"),
    "ssl.key.password": Becomes(("tls.key_password",)),
    "ssl.truststore.type": NoEffect(_PEM, "all files are PEM", usual="PEM"),
    "ssl.truststore.location": Becomes(("tls.client_ca_file",), note="PEM"),
    "ssl.client.auth": Becomes(("tls.client_auth",)),
    "ssl.enabled.protocols": Becomes(("tls.oldest_version",), _oldest_version, "the oldest of them counts"),
    "ssl.principal.mapping.rules": Becomes(("tls.principal_mapping_rules",)),
    "authorizer.class.name": Becomes(
        ("acl.enabled",), _authorizer, "`org.apache.kafka.metadata.authorizer.StandardAuthorizer` is `true`"
    ),
    "super.users": Becomes(("acl.super_users",)),
    "allow.everyone.if.no.acl.found": Becomes(("acl.allow_everyone_if_no_acl_found",)),
    "sasl.enabled.mechanisms": Becomes(("sasl.enabled_mechanisms",)),
    "connection.failed.authentication.delay.ms": Becomes(("sasl.failed_authentication_delay_ms",)),
    "connections.max.reauth.ms": Becomes(("sasl.reauthentication_ms_max",)),
}
