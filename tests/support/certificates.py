"""Certificates for tests: an authority, and what it issues, expires and revokes. Keys are of elliptic curves: fast."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from penstock.security.tls.options import ClientAuth, TlsOptions

DAY = datetime.timedelta(days=1)


class Issued:
    """A certificate with its key, as files in a directory."""

    def __init__(self, directory: Path, name: str, chain: bytes, key: ec.EllipticCurvePrivateKey) -> None:
        self.certificate = x509.load_pem_x509_certificate(chain)
        self.key = key
        self.certificate_file = directory / f"{name}.pem"
        self.key_file = directory / f"{name}.key"
        self.certificate_file.write_bytes(chain)
        self.key_file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        self.key_file.chmod(0o600)

    def load(self, context: ssl.SSLContext) -> None:
        context.load_cert_chain(self.certificate_file, self.key_file)


class Authority:
    """An authority of its own."""

    def __init__(self, directory: Path, name: str = "ca") -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"{name} of {directory.name}")])
        self._revoked: list[int] = []
        builder = self._builder(self._name, self._key, DAY * 10).add_extension(
            x509.BasicConstraints(ca=True, path_length=None), critical=True
        )
        pem = self._signed(builder)
        self.issued = Issued(directory, name, pem, self._key)
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
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]) if isinstance(name, str) else name
        builder = self._builder(subject, key, lasts).add_extension(
            x509.SubjectAlternativeName([_alternative(host) for host in hosts]), critical=False
        )
        return Issued(self.directory, file_name or str(name if isinstance(name, str) else "other"),
                      self._signed(builder), key)  # fmt: skip

    def revoke(self, issued: Issued) -> Path:
        """Put a certificate on the authority's list; returns the file of the list."""
        self._revoked.append(issued.certificate.serial_number)
        return self.revocations()

    def revocations(self) -> Path:
        now = datetime.datetime.now(datetime.UTC)
        builder = x509.CertificateRevocationListBuilder().issuer_name(self._name).last_update(now - DAY)
        builder = builder.next_update(now + DAY)
        for number in self._revoked:
            entry = x509.RevokedCertificateBuilder().serial_number(number).revocation_date(now - DAY).build()
            builder = builder.add_revoked_certificate(entry)
        path = self.directory / "revoked.pem"
        path.write_bytes(builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
        return path

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

    def _builder(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, lasts: datetime.timedelta
    ) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - DAY * 20)
            .not_valid_after(now + lasts)
        )

    def _signed(self, builder: x509.CertificateBuilder) -> bytes:
        return builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
