"""The certificate and the authorities of a listener, read again when a file has changed.

Handshakes use the context of their moment; open connections keep theirs. Files that cannot be used change nothing: the
context before stays, and the files are tried again at every look, since what mends them may not change them, as the
owner of a key. So does a new certificate that every client would refuse.
"""

from __future__ import annotations

import ssl
import time
from pathlib import Path

from penstock.security.tls.context import build_context, guarded
from penstock.security.tls.options import TlsOptions, TlsProblem
from penstock.security.tls.revocations import end_of_lists
from penstock.security.tls.server_certificate import ServerCertificate

_Stamp = tuple[int, ...]
"""Time of the last change, size, inode, mode and owner."""


class Certificates:
    """The files of one listener. TlsProblem if they cannot be used when it is made."""

    def __init__(self, options: TlsOptions) -> None:
        self._options = options
        self._stamps = self._read_stamps()
        self._has_failed = False
        self._context = build_context(options)
        self._certificate = ServerCertificate.read(options.certificate_file)
        self.lists_expire_at = end_of_lists(options)
        """When the lists of revoked certificates are out of date; None if there are none, or they have no end."""

    @property
    def context(self) -> ssl.SSLContext:
        """The context of the next handshake."""
        return guarded(self._context, self._options)

    @property
    def expires_at(self) -> float:
        """When the first certificate of the chain ends, in seconds since 1970."""
        return self._certificate.chain_ends_at

    @property
    def problem(self) -> str | None:
        """Why clients refuse the certificate in use now; None if they do not."""
        return self._certificate.problem(time.time())

    def reload(self, *, always: bool = False) -> tuple[Path, ...]:
        """Read the files again if one has changed since the last look, or could not be used. Returns the changed ones.

        TlsProblem if they cannot be used.
        """
        stamps = self._read_stamps()
        changed = tuple(path for path, stamp in stamps.items() if stamp != self._stamps[path])
        if not (changed or always or self._has_failed):
            return ()
        self._has_failed = True
        context, certificate = build_context(self._options), ServerCertificate.read(self._options.certificate_file)
        self._check(certificate)
        lists_expire_at = end_of_lists(self._options)
        self._context, self._certificate, self.lists_expire_at = context, certificate, lists_expire_at
        self._stamps, self._has_failed = stamps, False
        return changed

    def _check(self, certificate: ServerCertificate) -> None:
        """Refuse a new certificate that clients would refuse. Authorities beside one that has ended still change."""
        problem = certificate.problem(time.time())
        if problem is not None and certificate.fingerprint != self._certificate.fingerprint:
            raise TlsProblem(f"{self._options.certificate_file} {problem}")

    def _read_stamps(self) -> dict[Path, _Stamp | None]:
        return {path: _stamp(path) for path in self._options.files}


def _stamp(path: Path) -> _Stamp | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino, status.st_mode, status.st_uid
