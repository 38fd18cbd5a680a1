"""The configs of a broker that say who may connect, and how: listeners, TLS, logins and rights.

They are what a tool that audits brokers looks at, so they show what is in force, whichever names the settings file has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from penstock.config.config_key import ConfigType
from penstock.config.settings import SaslSettings, Settings
from penstock.config.settings.acl import STANDARD
from penstock.config.settings.security import PROTOCOLS
from penstock.config.shown_value import is_secret
from penstock.config.static_config import StaticConfig

STANDARD_AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
PEM: Final = "PEM"
_OWN_NAMES: Final = ",".join(f"{name}:{name}" for name in PROTOCOLS)
_BOOL, _STR, _INT, _LONG, _LIST, _PASSWORD = (
    ConfigType.BOOLEAN,
    ConfigType.STRING,
    ConfigType.INT,
    ConfigType.LONG,
    ConfigType.LIST,
    ConfigType.PASSWORD,
)


def _listeners(settings: Settings) -> str:
    kafka = settings.kafka
    return settings.listeners.addresses or _address(settings, kafka.host, kafka.port)


def _advertised(settings: Settings) -> str | None:
    own, address = settings.listeners.advertised, settings.kafka.advertised_address
    if own is not None or address is None or settings.listeners.addresses is not None:
        return own
    return _address(settings, address[0], address[1] or settings.kafka.port)


def _address(settings: Settings, host: str, port: int) -> str:
    is_ipv6 = ":" in host and not host.startswith("unix:")
    return f"{settings.security.protocol}://{f'[{host}]' if is_ipv6 else host}:{port}"


def _authorizer(settings: Settings) -> str:
    acl = settings.acl
    if not acl.enabled:
        return ""
    return STANDARD_AUTHORIZER if acl.authorizer == STANDARD else acl.authorizer


def _mechanisms(sasl: SaslSettings) -> str:
    return ",".join(mechanism.value for mechanism in sasl.enabled_mechanisms)


def _versions(settings: Settings) -> str:
    return "TLSv1.3" if settings.tls.oldest_version == "1.3" else "TLSv1.2,TLSv1.3"


def _type_of(file: object) -> str | None:
    return None if file is None else PEM


SECURITY_CONFIGS: Final = (
    StaticConfig("advertised.listeners", _LIST, _advertised, None, "The addresses that clients are told."),
    StaticConfig("allow.everyone.if.no.acl.found", _BOOL, lambda s: s.acl.allow_everyone_if_no_acl_found, False,
                 "Whether everyone may do everything to a resource that no rule is about."),
    StaticConfig("authorizer.class.name", _STR, _authorizer, "", "Who decides on rights; empty: all are allowed."),
    StaticConfig("connection.failed.authentication.delay.ms", _INT, lambda s: s.sasl.failed_authentication_delay_ms,
                 100, "Time before a client learns that its login has failed."),
    StaticConfig("connections.max.reauth.ms", _LONG, lambda s: s.sasl.reauthentication_ms_max, 0,
                 "Time within which a client has to log in again; 0: it need not."),
    StaticConfig("listener.security.protocol.map", _STR, lambda s: s.listeners.protocols or _OWN_NAMES, _OWN_NAMES,
                 "Protocols of listeners by name."),
    StaticConfig("listeners", _LIST, _listeners, None, "The addresses this node listens on."),
    StaticConfig("sasl.enabled.mechanisms", _LIST, lambda s: _mechanisms(s.sasl), _mechanisms(SaslSettings()),
                 "Mechanisms of logins, where a listener has SASL."),
    StaticConfig("ssl.client.auth", _STR, lambda s: s.tls.client_auth, "none",
                 "Whether clients show a certificate, where a listener has TLS."),
    StaticConfig("ssl.enabled.protocols", _LIST, _versions, "TLSv1.2,TLSv1.3", "Versions of TLS."),
    StaticConfig("ssl.key.password", _PASSWORD, lambda s: s.tls.key_password, None, "Password of the private key."),
    StaticConfig("ssl.keystore.location", _STR, lambda s: s.tls.certificate_file, None, "Certificate of the node."),
    StaticConfig("ssl.keystore.type", _STR, lambda s: _type_of(s.tls.certificate_file), None, "Always PEM."),
    StaticConfig("ssl.principal.mapping.rules", _STR, lambda s: s.tls.principal_mapping_rules, "DEFAULT",
                 "From the subject of a client's certificate to its principal."),
    StaticConfig("ssl.truststore.location", _STR, lambda s: s.tls.client_ca_file, None,
                 "Authorities whose certificates clients may show."),
    StaticConfig("ssl.truststore.type", _STR, lambda s: _type_of(s.tls.client_ca_file), None, "Always PEM."),
    StaticConfig("super.users", _STR, lambda s: ";".join(s.acl.super_users) or None, None,
                 "Principals that may do everything."),
)  # fmt: skip


def configs_of_listeners(settings: Settings) -> Iterator[StaticConfig]:
    """What single listeners have of their own: `listener.name.NAME.…`."""
    for key, value in settings.listeners.overrides.items():
        name, _, setting = key.partition(".")
        full_name = f"listener.name.{name.lower()}.{setting}"
        kind = _PASSWORD if is_secret(setting) else _STR
        yield StaticConfig(full_name, kind, _always(value), None, f"Of the listener {name.upper()} alone.")


def _always(value: str) -> Callable[[Settings], str]:
    return lambda _: value
