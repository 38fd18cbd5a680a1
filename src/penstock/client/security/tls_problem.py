"""A TLS handshake that failed, in one sentence with the fix. The words are for users of clients."""

from __future__ import annotations

import ssl
from typing import Final

# Codes of OpenSSL's verification (x509_vfy.h).
_EXPIRED: Final = 10
_UNKNOWN_AUTHORITY: Final = (2, 18, 19, 20, 21, 27)
_WRONG_NAME: Final = (62, 64)

_AUTHORITY: Final = "name the file of its authority with ssl.ca.location, or ssl.truststore.location"
_NAME: Final = "connect by a name that its certificate has, or have one issued for this name"
_PROTOCOL: Final = "is security.protocol right, and is it the port of a listener with TLS?"
_OWN: Final = "give one that the broker trusts: ssl.certificate.location and ssl.key.location, or ssl.keystore.location"

SUSPECTED: Final = (
    "closes the connection before its first answer; perhaps it does not take the certificate of the client (expired,"
    " revoked, or of an authority that it does not know), which its log says; otherwise check security.protocol"
)
"""What the end of a connection may mean on which the client has shown a certificate."""

_NOT_TLS: Final = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST", "UNEXPECTED_MESSAGE")
_ALERTS_ABOUT_OURS: Final = {
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": "wants a certificate of the client",
    "SSLV3_ALERT_HANDSHAKE_FAILURE": "refuses the handshake, perhaps because it wants a certificate of the client",
    "SSLV3_ALERT_BAD_CERTIFICATE": "does not take the certificate of the client",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": "does not take the certificate of the client",
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": "does not take the certificate of the client, which has expired",
    "SSLV3_ALERT_CERTIFICATE_REVOKED": "does not take the certificate of the client, which is revoked",
    "TLSV1_ALERT_UNKNOWN_CA": "does not know the authority of the client's certificate",
}


def tls_problem(error: BaseException) -> str | None:
    """What is wrong with a handshake, to be put behind the address; None if another attempt may work."""
    if isinstance(error, ssl.SSLCertVerificationError):
        told = f"is not trusted: {error.verify_message.rstrip('.')}"
        if error.verify_code in _WRONG_NAME:
            return f"{told}; {_NAME}"
        if error.verify_code in _UNKNOWN_AUTHORITY:
            return f"{told}; {_AUTHORITY}"
        return f"{told}; renew its certificate" if error.verify_code == _EXPIRED else told
    if not isinstance(error, ssl.SSLError) or isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return None
    refused = certificate_problem(error)
    if refused is not None:
        return refused
    if error.reason in _NOT_TLS:
        return f"does not speak TLS; {_PROTOCOL}"
    return f"has no TLS that this client speaks ({error.reason or error}); {_PROTOCOL}"


def certificate_problem(error: BaseException) -> str | None:
    """What the broker has against the client's certificate, if that is the error; None otherwise.

    With TLS 1.3 a client hears of it after its handshake, when it reads.
    """
    told = _ALERTS_ABOUT_OURS.get(error.reason or "") if isinstance(error, ssl.SSLError) else None
    return None if told is None else f"{told}; {_OWN}"


def is_end(error: BaseException | None) -> bool:
    """Whether an error, or none, is the end of a connection by the broker, as opposed to its silence.

    With TLS 1.3 that is all a client may hear of it that its certificate is refused: the alert can be lost.
    """
    return error is None or isinstance(error, ConnectionError | ssl.SSLError)
