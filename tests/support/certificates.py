"""Certificates for tests, as files: of the authority that `penstock security init` makes, expired and revoked ones."""

from __future__ import annotations

import datetime
import ssl
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from penstock.security.tls.authority import Authority as OwnAuthority
from penstock.security.tls.authority import KeyPair, common_name
from penstock.security.tls.options import ClientAuth, TlsOptions

DAY = datetime.timedelta(days=1)


class Issued:
    """A certificate with its key, as files in a directory."""

    def __init__(self, directory: Path, name: str, pair: KeyPair) -> None:
        self.certificate = x509.load_pem_x509_certificate(pair.certificate)
        self.certificate_file = directory / f"{name}.pem"
        self.key_file = directory / f"{name}.key"
        self.certificate_file.write_bytes(pair.certificate)
        self.key_file.write_bytes(pair.key)
        self.key_file.chmod(0o600)

    def load(self, context: ssl.SSLContext) -> None:
        context.load_cert_chain(self.certificate_file, self.key_file)


class Authority:
    """An authority of its own, and its list of revoked certificates."""

    def __init__(self, directory: Path, name: str = "ca") -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory
        self._authority = OwnAuthority.create(f"{name} of {directory.name}")
        self._revoked: list[int] = []
        self.issued = Issued(directory, name, self._authority.pair)
        self.file = self.issued.certificate_file

    def issue(
        self,
        name: str | x509.Name,
        *,
        hosts: Sequence[str] = ("127.0.0.1", "localhost"),
        lasts: datetime.timedelta = DAY,
        file_name: str | None = None,
    ) -> Issued:
        """A certificate for servers and clients; one that `lasts` a negative time has expired."""
        subject = common_name(name) if isinstance(name, str) else name
        pair = self._authority.issue(subject, days=lasts.days, hosts=hosts)
        return Issued(self.directory, file_name or str(name if isinstance(name, str) else "other"), pair)

    def revoke(self, issued: Issued) -> Path:
        """Put a certificate on the authority's list; returns the file of the list."""
        self._revoked.append(issued.certificate.serial_number)
        return self.revocations()

    def revocations(self, lasts: datetime.timedelta = 2 * DAY) -> Path:
        """Write the list; one that `lasts` a negative time, of less than a day, is out of date."""
        now = datetime.datetime.now(datetime.UTC)
        key = serialization.load_pem_private_key(self._authority.pair.key, None)
        assert isinstance(key, ec.EllipticCurvePrivateKey)
        issuer = self.issued.certificate.subject
        builder = x509.CertificateRevocationListBuilder().issuer_name(issuer).last_update(now - DAY)
        builder = builder.next_update(now + lasts)
        for number in self._revoked:
            entry = x509.RevokedCertificateBuilder().serial_number(number).revocation_date(now - DAY).build()
            builder = builder.add_revoked_certificate(entry)
        path, new = self.directory / "revoked.pem", self.directory / "revoked.new"
        new.write_bytes(builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
        return new.replace(path)

    def client_context(self, issued: Issued | None = None) -> ssl.SSLContext:
        """The context of a client that trusts this authority, and verifies names."""
        context = ssl.create_default_context(cafile=str(self.file))
        if issued is not None:
            issued.load(context)
        return context

    def options(self, issued: Issued, *, client_auth: ClientAuth = ClientAuth.NONE) -> TlsOptions:
        """The options of a listener with this certificate, which trusts this authority's clients."""
        return TlsOptions(
            certificate_file=issued.certificate_file,
            key_file=issued.key_file,
            client_auth=client_auth,
            client_ca_file=self.file,
        )
