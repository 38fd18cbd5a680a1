"""How a node shows itself to others over HTTP, and whom it trusts: the same for its registry and for its parent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator

from penstock.config.settings.secret import Secret
from penstock.config.settings.values import Section
from penstock.model.text.http_url import check_encryption


class HttpClientSettings(Section):
    """Certificates and names of hosts are always verified. Files are PEM, and are read at each new connection."""

    ca_file: Path | None = None
    """Authorities that certify the other side (https); without it, those that the system trusts."""
    certificate_file: Path | None = None
    """Certificate to show, where the other side knows its clients by certificates."""
    key_file: Path | None = None
    """Private key of the certificate, for its user only (mode 600); in the certificate's file if it is not set."""
    key_password: Secret | None = None
    """Password of the private key, if it has one."""
    username: Annotated[str, Field(min_length=1, pattern="^[^:]*$")] | None = None
    """User to log in as, where the other side asks for a login; with a password."""
    password: Secret | None = None
    """Password of the user. It is sent over https, or within this machine."""
    token: Secret | None = None
    """A token instead of user and password."""

    @model_validator(mode="after")
    def _one_login(self) -> Self:
        if (self.username is None) != (self.password is None):
            raise ValueError("username and password go together; set both, or a token")
        if self.token is not None and self.username is not None:
            raise ValueError("a token stands for user and password; set either")
        if self.certificate_file is None and (self.key_file is not None or self.key_password is not None):
            raise ValueError("key_file and key_password are those of a certificate; set certificate_file")
        return self

    def check_url(self, url: str | None, section: str) -> None:
        """ValueError if requests to the URL would not be protected as these settings ask for."""
        if url is not None:
            expects_tls = self.ca_file is not None or self.certificate_file is not None
            check_encryption(url, section, has_login=self.has_login, expects_tls=expects_tls)

    @property
    def has_login(self) -> bool:
        return self.username is not None or self.token is not None
