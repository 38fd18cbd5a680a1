"""How a node shows itself to its registry and to its parent, and how it verifies them.

A password or a token is sent over https, or within this machine, and nowhere else: a registry that names a parent
without TLS does not get a node to tell its password to the network. Certificates are verified, names of hosts included.
More holds for the parents that a registry names (`named_parents`).
"""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
from typing import TYPE_CHECKING, Final

from penstock.client.security.properties import ClientSecurity, SecurityProblem
from penstock.client.security.tls import client_context
from penstock.config.file_trust import UntrustedFileError, check_writers
from penstock.config.secret_file import SecretFileError, check_secret_file
from penstock.config.settings import HttpClientSettings
from penstock.model.text.http_url import is_encrypted
from penstock.topology.named_parents import NamedParents

if TYPE_CHECKING:
    import aiohttp
    from aiohttp.abc import AbstractResolver

DETAIL_CHARACTERS_MAX: Final = 300


class IdentityProblem(Exception):
    """Certificates or keys of this node that cannot be used, with the reason; files may be put right meanwhile."""


class HttpIdentity:
    """`section` names the settings, for messages; `named` has the rules where a registry names the other side."""

    def __init__(self, settings: HttpClientSettings, section: str, named: NamedParents | None = None) -> None:
        self._settings = settings
        self._section = section
        self._named = named

    def check(self, url: str) -> None:
        """ValueError if the other side must not be asked at this address."""
        self._settings.check_url(url, self._section)
        if self._named is not None:
            self._named.check(url)

    async def session(self, url: str, **options: object) -> aiohttp.ClientSession:
        """A session of requests to one address, with certificates as the files have them now.

        aiohttp has to be loaded. IdentityProblem, and ValueError as in `check`.
        """
        import aiohttp

        self.check(url)
        context = await asyncio.to_thread(self._context) if is_encrypted(url) else None
        resolver = None if self._named is None else _resolver(self._named)
        connector = aiohttp.TCPConnector(limit=2, ssl=True if context is None else context, resolver=resolver)
        return aiohttp.ClientSession(connector=connector, headers=self._headers(), **options)  # type: ignore[arg-type]

    def reason_of(self, error: BaseException) -> str:
        """Why a request has failed, in one line."""
        import aiohttp

        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            cause = error.certificate_error
            said = cause.verify_message if isinstance(cause, ssl.SSLCertVerificationError) else str(cause)
            return f"its certificate is refused: {said}"
        if isinstance(error, aiohttp.ClientConnectorSSLError):
            return f"no TLS with it: {getattr(error.os_error, 'reason', None) or error.os_error}"
        text = " ".join(str(error).split()) or type(error).__name__
        is_cut = isinstance(error, aiohttp.ServerDisconnectedError | aiohttp.ClientOSError)
        if is_cut and self._settings.certificate_file is not None:
            # With TLS 1.3 a server refuses a client's certificate after the handshake, by ending the connection.
            return f"{text}; perhaps {self._section}.certificate_file has expired, or is not of an authority it knows"
        return text

    def _headers(self) -> dict[str, str]:
        settings = self._settings
        if settings.token is not None:
            return {"Authorization": f"Bearer {settings.token.reveal()}"}
        if settings.username is not None and settings.password is not None:
            pair = f"{settings.username}:{settings.password.reveal()}".encode()
            return {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}
        return {}

    def _context(self) -> ssl.SSLContext:
        settings = self._settings
        try:
            own_key = settings.key_file or settings.certificate_file
            if own_key is not None:
                check_secret_file(own_key)
            for path in (settings.ca_file, settings.certificate_file, own_key):
                if path is not None:
                    check_writers(path)
            return client_context(
                ClientSecurity(
                    protocol="SSL",
                    authorities_file=_text(settings.ca_file),
                    certificate_file=_text(settings.certificate_file),
                    key_file=_text(settings.key_file),
                    key_password=None if settings.key_password is None else settings.key_password.reveal(),
                )
            )
        except (SecurityProblem, SecretFileError, UntrustedFileError) as problem:
            raise IdentityProblem(f"{self._section}: {problem}") from None
        except OSError as error:
            raise IdentityProblem(f"{self._section}: {error.filename}: {error.strerror}") from None


def detail_of(body: bytes, otherwise: str) -> str:
    """The `detail` of a problem in an answer; without one the text that is given."""
    try:
        return " ".join(str(json.loads(body)["detail"]).split())[:DETAIL_CHARACTERS_MAX]
    except (ValueError, KeyError, TypeError, RecursionError):
        return otherwise


def _resolver(named: NamedParents) -> AbstractResolver:
    from penstock.topology.admitting_resolver import AdmittingResolver

    return AdmittingResolver(named)


def _text(path: object) -> str | None:
    return None if path is None else str(path)
