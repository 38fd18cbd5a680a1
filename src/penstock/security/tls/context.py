"""SSL contexts by policy: TLS 1.2 and 1.3, forward secrecy, no compression, no renegotiation, no tickets.

A resumed session keeps the client certificate of the first handshake and does not look at it again, although it, or the
list of revoked ones, may have expired. There are no tickets, but OpenSSL keeps sessions of TLS 1.2 in its context,
which Python cannot turn off. So where clients show certificates every handshake has a context of its own in front
(`guarded`): sessions are looked for and kept there, and end with their connection.
"""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Final

from penstock.config.file_trust import UntrustedFileError, check_writers
from penstock.config.secret_file import SecretFileError, check_secret_file
from penstock.security.tls.openssl import bound_handshakes
from penstock.security.tls.options import ClientAuth, TlsOptions, TlsProblem

_VERSIONS: Final = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}
_MODES: Final = {
    ClientAuth.NONE: ssl.CERT_NONE,
    ClientAuth.REQUESTED: ssl.CERT_OPTIONAL,
    ClientAuth.REQUIRED: ssl.CERT_REQUIRED,
}


def build_context(options: TlsOptions) -> ssl.SSLContext:
    """A context for servers. TlsProblem if a file is missing, does not fit the others, or is open to other users.

    A key must be read by nobody else, and no file be written or replaced: whoever adds an authority is any client.
    """
    if options.client_auth is not ClientAuth.NONE and options.client_ca_file is None:
        raise TlsProblem(
            f"clients are to show certificates (ssl.client.auth: {options.client_auth.value}), but no authority is"
            " trusted; name one with tls.client_ca_file"
        )
    context = _without_files(options)
    _set_ciphers(context, options.ciphers)
    _load_certificate(context, options)
    if options.client_auth is not ClientAuth.NONE:
        _load_authorities(context, options)
    return context


def guarded(context: ssl.SSLContext, options: TlsOptions) -> ssl.SSLContext:
    """The context for one handshake: the same one, or a new one in front of it that has no sessions."""
    if options.client_auth is ClientAuth.NONE or options.oldest_version == "1.3":
        return context
    front = _without_files(options)

    def step_behind(connection: ssl.SSLObject, name: str | None, current: ssl.SSLContext) -> None:
        """OpenSSL calls this in every handshake, also for a client that names no host."""
        connection.context = context

    front.sni_callback = step_behind
    return front


def _without_files(options: TlsOptions) -> ssl.SSLContext:
    """Everything that a handshake takes from the context with which it begins."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = _VERSIONS[options.oldest_version]
    context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_TICKET
    context.num_tickets = 0
    bound_handshakes(context)
    context.verify_mode = _MODES[options.client_auth]
    if options.client_auth is not ClientAuth.NONE and options.crl_file is not None:
        context.verify_flags |= ssl.VERIFY_CRL_CHECK_CHAIN
    return context


def _set_ciphers(context: ssl.SSLContext, ciphers: str) -> None:
    try:
        context.set_ciphers(ciphers)
    except ssl.SSLError:
        raise TlsProblem(f"no cipher of OpenSSL fits {ciphers!r}; see `openssl ciphers -v`") from None
    weak = [cipher["name"] for cipher in context.get_ciphers() if not _is_sound(cipher)]
    if weak:
        raise TlsProblem(
            f"tls.ciphers has ciphers without forward secrecy or authenticated encryption ({', '.join(weak[:3])});"
            " allowed are those of ECDHE with AES-GCM, AES-CCM or CHACHA20-POLY1305"
        )
    if context.security_level < ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).security_level:
        raise TlsProblem("tls.ciphers lowers the security level of OpenSSL; leave @SECLEVEL out")


def _is_sound(cipher: ssl._Cipher) -> bool:
    """Whether a cipher has forward secrecy, an authenticated server and authenticated encryption."""
    if cipher["protocol"] == "TLSv1.3":
        return True
    return bool(cipher["aead"]) and cipher["kea"] == "kx-ecdhe" and cipher["auth"] != "auth-null"


def _load_certificate(context: ssl.SSLContext, options: TlsOptions) -> None:
    certificate, key = options.certificate_file, options.key_file or options.certificate_file
    try:
        check_secret_file(key)
    except SecretFileError as error:
        raise TlsProblem(f"the private key {error}") from None
    for path in dict.fromkeys((certificate, key)):
        _check_writers(path)
    password = options.key_password or ""  # a text, since OpenSSL would ask the terminal for it
    try:
        context.load_cert_chain(certificate, key, password)
    except ssl.SSLError as error:
        reason = error.reason or "not PEM, or the password of the key is wrong"
        raise TlsProblem(f"{certificate} and {key} are no certificate with its private key ({reason})") from None
    except (OSError, ValueError) as error:
        raise TlsProblem(f"{certificate}: {error}") from None


def _load_authorities(context: ssl.SSLContext, options: TlsOptions) -> None:
    assert options.client_ca_file is not None
    for path in (options.client_ca_file, options.crl_file):
        if path is None:
            continue
        _check_writers(path)
        try:
            context.load_verify_locations(path)
        except ssl.SSLError:
            raise TlsProblem(f"{path} has no certificates or lists in PEM") from None
        except OSError as error:
            raise TlsProblem(f"{path}: {error.strerror}") from None
    if not context.cert_store_stats()["x509_ca"]:
        raise TlsProblem(f"{options.client_ca_file} has no certificate of an authority (basicConstraints CA:TRUE)")
    if options.crl_file is not None and not context.cert_store_stats()["crl"]:
        raise TlsProblem(f"{options.crl_file} has no list of revoked certificates")


def _check_writers(path: Path) -> None:
    try:
        check_writers(path)
    except UntrustedFileError as error:
        raise TlsProblem(str(error)) from None
    except OSError as error:
        raise TlsProblem(f"{path}: {error.strerror}") from None
