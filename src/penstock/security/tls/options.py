"""The TLS options of one listener, and the problems that they may have."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

CIPHERS: Final = "ECDHE+AESGCM:ECDHE+CHACHA20"
"""For TLS 1.2: forward secrecy and authenticated encryption only. TLS 1.3 has no others."""


class TlsProblem(Exception):
    """Certificates, keys or options that cannot be used; the message names the file and the way out."""


class ClientAuth(enum.StrEnum):
    """Whether clients show a certificate: Kafka's ssl.client.auth."""

    NONE = "none"
    REQUESTED = "requested"
    REQUIRED = "required"


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsOptions:
    """Files are PEM. Without a key file the key is in the certificate's."""

    certificate_file: Path
    key_file: Path | None = None
    key_password: str | None = field(default=None, repr=False)
    client_auth: ClientAuth = ClientAuth.NONE
    client_ca_file: Path | None = None
    """The authorities whose certificates clients may show."""
    crl_file: Path | None = None
    """Revoked certificates: a list of every authority in the chain of a client."""
    oldest_version: str = "1.2"
    ciphers: str = CIPHERS

    @property
    def asks_clients(self) -> bool:
        return self.client_auth is not ClientAuth.NONE

    @property
    def files(self) -> tuple[Path, ...]:
        """All files, each once."""
        named = (self.certificate_file, self.key_file, self.client_ca_file, self.crl_file)
        return tuple(dict.fromkeys(path for path in named if path is not None))
