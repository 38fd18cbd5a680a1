"""Settings about the certificates of clients, where no client is asked for one.

They would have no effect, and a user would rely on them: on certificates that are revoked, or on names that rules give.
Authorities (`tls.client_ca_file`) protect nothing by themselves, and `penstock security init` names them in advance.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from penstock.config.settings import TlsSettings
from penstock.node.errors import SettingsError
from penstock.security.tls.options import TlsOptions

_DEFAULT: str = TlsSettings.model_fields["principal_mapping_rules"].default


def check_certificate_use(tls: TlsSettings, doors: Iterable[TlsOptions | None]) -> None:
    """SettingsError for settings of all listeners if none of them asks."""
    if any(door is not None and door.asks_clients for door in doors):
        return
    for setting in _set(tls):
        raise SettingsError(
            f"{setting} is set, but no listener asks clients for certificates; set tls.client_auth to required (or"
            " requested) at listeners with TLS, or take it out"
        )


def check_own_certificate_use(name: str, tls: TlsSettings, own: Container[str], door: TlsOptions | None) -> None:
    """The same for settings that one listener has of its own; `tls` are those in force there."""
    if door is not None and door.asks_clients:
        return
    for setting in _set(tls):
        if setting in own:
            prefix = f"listener.name.{name.lower()}"
            raise SettingsError(
                f"{prefix}: {setting} is set, but the listener asks no client for a certificate; set"
                f" {prefix}.ssl.client.auth to required (or requested) and its protocol to one with TLS, or take it out"
            )


def _set(tls: TlsSettings) -> list[str]:
    found = []
    if tls.crl_file is not None:
        found.append("tls.crl_file")
    if tls.principal_mapping_rules.strip() not in ("", _DEFAULT):
        found.append("tls.principal_mapping_rules")
    return found
