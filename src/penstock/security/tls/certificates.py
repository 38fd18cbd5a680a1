"""The certificate and the authorities of a listener, read again when a file has changed.

Handshakes use the context of their moment; open connections keep theirs. Files that cannot be used change nothing: the
context before stays, and the problem is reported once for each state of the files.
"""

from __future__ import annotations

import ssl
from pathlib import Path

from penstock.security.tls.context import build_context, guarded
from penstock.security.tls.options import TlsOptions, TlsProblem
from penstock.security.tls.revocations import end_of_lists

_Stamp = tuple[int, int, int]


class Certificates:
    """The files of one listener. TlsProblem if they cannot be used when it is made."""

    def __init__(self, options: TlsOptions) -> None:
        self._options = options
        self._stamps = self._read_stamps()
        self._context = build_context(options)
        self.expires_at = _end_of(options.certificate_file)
        """When the first certificate of the chain ends, in seconds since 1970."""
        self.lists_expire_at = end_of_lists(options)
        """When the lists of revoked certificates are out of date; None if there are none, or they have no end."""

    @property
    def context(self) -> ssl.SSLContext:
        """The context of the next handshake."""
        return guarded(self._context, self._options)

    def reload(self) -> tuple[Path, ...]:
        """Read the files again if one has changed since the last look. Returns those of the new context.

        TlsProblem if they cannot be used; the next look finds them unchanged until somebody mends them.
        """
        stamps = self._read_stamps()
        changed = tuple(path for path, stamp in stamps.items() if stamp != self._stamps[path])
        if not changed:
            return ()
        self._stamps = stamps
        context, expires_at = build_context(self._options), _end_of(self._options.certificate_file)
        lists_expire_at = end_of_lists(self._options)
        self._context, self.expires_at, self.lists_expire_at = context, expires_at, lists_expire_at
        return changed

    def _read_stamps(self) -> dict[Path, _Stamp | None]:
        return {path: _stamp(path) for path in self._options.files}


def _stamp(path: Path) -> _Stamp | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _end_of(path: Path) -> float:
    from cryptography import x509

    try:
        chain = x509.load_pem_x509_certificates(path.read_bytes())
    except (OSError, ValueError) as error:
        raise TlsProblem(f"{path}: {error}") from None
    return min(certificate.not_valid_after_utc.timestamp() for certificate in chain)
