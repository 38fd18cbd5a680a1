"""The TLS of a client's connection."""

from __future__ import annotations

import os
import socket
import ssl
import tempfile

from penstock.client.security.properties import ClientSecurity, SecurityProblem


def client_context(security: ClientSecurity) -> ssl.SSLContext:
    """TLS 1.2 or newer; certificates and names are verified unless the user declines. SecurityProblem."""
    try:
        context = ssl.create_default_context(cafile=security.authorities_file, cadata=security.authorities)
    except (OSError, ValueError) as error:
        place = security.authorities_file or "ssl.truststore.certificates"
        raise SecurityProblem(f"{place} has no certificates of authorities in PEM: {_reason(error)}") from None
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = security.verifies_names and security.verifies_certificates
    if not security.verifies_certificates:
        context.verify_mode = ssl.CERT_NONE
    if security.has_certificate:
        _load_own(context, security)
    return context


def encrypted(stream: socket.socket, host: str, context: ssl.SSLContext) -> ssl.SSLSocket:
    """Shake hands over a connected socket. OSError; ssl.SSLCertVerificationError if the broker is not trusted."""
    return context.wrap_socket(stream, server_hostname=host)


def _load_own(context: ssl.SSLContext, security: ClientSecurity) -> None:
    password = security.key_password or ""  # a text, since OpenSSL would ask the terminal for it
    try:
        if security.certificate_file is not None:
            context.load_cert_chain(security.certificate_file, security.key_file, password)
            return
        # Python loads certificates from files only; this one is never visible under a name.
        with tempfile.TemporaryFile() as file:
            file.write(f"{security.certificate}\n{security.key or ''}\n".encode())
            file.flush()
            context.load_cert_chain(f"/proc/self/fd/{file.fileno()}", None, password)
    except (OSError, ValueError) as error:
        place = security.certificate_file or "ssl.keystore.certificate.chain"
        raise SecurityProblem(f"{place} and its key cannot be used: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return error.reason or "not PEM, or the password of the key is wrong"
    return os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
