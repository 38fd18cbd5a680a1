"""The certificate of a listener: for how long it and those above it count, and whether clients can take it at all.

Without I/O but for the file that it is read from. The private key and the chain are for OpenSSL to check.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from penstock.security.tls.options import TlsProblem

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

SERVER_AUTH: Final = "1.3.6.1.5.5.7.3.1"
ANY_USE: Final = "2.5.29.37.0"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerCertificate:
    """Times are in seconds since 1970."""

    fingerprint: bytes
    begins_at: float
    ends_at: float
    chain_ends_at: float
    """When the first certificate of the file ends."""
    is_for_servers: bool

    @classmethod
    def read(cls, path: Path) -> ServerCertificate:
        """TlsProblem if the file has none."""
        try:
            return cls.parse(path.read_bytes())
        except (OSError, ValueError) as error:
            raise TlsProblem(f"{path}: {error}") from None

    @classmethod
    def parse(cls, pem: bytes) -> ServerCertificate:
        """The first certificate of a text in PEM, which is the listener's own. ValueError if there is none."""
        from cryptography import x509
        from cryptography.hazmat.primitives.hashes import SHA256

        chain = x509.load_pem_x509_certificates(pem)
        own = chain[0]
        return cls(
            fingerprint=own.fingerprint(SHA256()),
            begins_at=own.not_valid_before_utc.timestamp(),
            ends_at=own.not_valid_after_utc.timestamp(),
            chain_ends_at=min(each.not_valid_after_utc.timestamp() for each in chain),
            is_for_servers=_is_for_servers(own),
        )

    def problem(self, now: float) -> str | None:
        """Why clients refuse it, and the remedy; None if they do not."""
        if not self.is_for_servers:
            return "is not for servers (its extendedKeyUsage has no serverAuth); issue one with the names of the node"
        if now >= self.ends_at:
            return f"has ended on {_day(self.ends_at)}; renew it"
        if now < self.begins_at:
            return f"begins on {_day(self.begins_at)}; renew it, or correct the clock"
        return None


def hosts_of(pem: bytes) -> list[str]:
    """The names and addresses that the first certificate of a text is for. ValueError if there is none."""
    from cryptography import x509

    extensions = x509.load_pem_x509_certificates(pem)[0].extensions
    try:
        found = extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    return [str(name.value) for name in found if isinstance(name, (x509.DNSName, x509.IPAddress))]


def _is_for_servers(certificate: Certificate) -> bool:
    """Without the extension it is for everything. Extensions that cannot be read are for OpenSSL to judge."""
    from cryptography import x509

    try:
        usages = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except (x509.ExtensionNotFound, x509.DuplicateExtension, x509.UnsupportedGeneralNameType, ValueError):
        return True
    return any(usage.dotted_string in (SERVER_AUTH, ANY_USE) for usage in usages)


def _day(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
