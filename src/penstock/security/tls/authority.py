"""A certificate authority of one's own, for nodes that have none from elsewhere. Everything is PEM, in memory."""

from __future__ import annotations

import datetime
import hashlib
import ipaddress
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

AUTHORITY_DAYS: Final = 3650
CERTIFICATE_DAYS: Final = 825
"""The most that clients of some systems accept."""
NAME_BYTES_MAX: Final = 64
"""The most that a common name may have (ub-common-name of RFC 5280)."""
_CLOCK_SKEW: Final = datetime.timedelta(hours=1)


class KeyPair(NamedTuple):
    """A certificate and its private key, in PEM."""

    certificate: bytes
    key: bytes


class Authority:
    """Issues certificates. Keys are of the curve P-256: small, and fast in handshakes."""

    def __init__(self, certificate: x509.Certificate, key: EllipticCurvePrivateKey) -> None:
        self._certificate = certificate
        self._key = key

    @classmethod
    def create(cls, name: str) -> Authority:
        from cryptography import x509

        key = _new_key()
        subject = common_name(_shortened(name))
        usage = x509.KeyUsage(
            digital_signature=False,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            key_cert_sign=True,
            crl_sign=True,
            encipher_only=False,
            decipher_only=False,
        )
        builder = (
            _builder(subject, subject, key, AUTHORITY_DAYS)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        )
        return cls(_signed(builder, key), key)

    @classmethod
    def load(cls, pair: KeyPair) -> Authority:
        """ValueError if it is no certificate with its key."""
        from cryptography import x509
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ec

        certificate = x509.load_pem_x509_certificate(pair.certificate)
        key = serialization.load_pem_private_key(pair.key, None)
        if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != certificate.public_key():
            raise ValueError("the key is not that of the certificate")
        return cls(certificate, key)

    @property
    def pair(self) -> KeyPair:
        return _pem(self._certificate, self._key)

    @property
    def serial_number(self) -> int:
        return self._certificate.serial_number

    @property
    def ends_at(self) -> datetime.datetime:
        return self._certificate.not_valid_after_utc

    def has_issued(self, certificate: x509.Certificate) -> bool:
        """Whether a certificate is of this authority, and not the authority itself."""
        from cryptography.exceptions import InvalidSignature

        if certificate == self._certificate:
            return False
        try:
            certificate.verify_directly_issued_by(self._certificate)
        except (ValueError, TypeError, InvalidSignature):
            return False
        return True

    def has_signed(self, found: x509.CertificateRevocationList) -> bool:
        return found.issuer == self._certificate.subject and found.is_signature_valid(self._key.public_key())

    def sign_list(self, builder: x509.CertificateRevocationListBuilder) -> bytes:
        """A list of revoked certificates of this authority, in PEM."""
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization

        own_key = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = builder.issuer_name(self._certificate.subject).add_extension(own_key, critical=False)
        return builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    def issue_server(self, hosts: Sequence[str], days: int = CERTIFICATE_DAYS) -> KeyPair:
        """A certificate for a node that is reached under these names and addresses."""
        return self.issue(common_name(_shortened(hosts[0])), days=days, hosts=hosts)

    def issue_client(self, name: str, days: int = CERTIFICATE_DAYS) -> KeyPair:
        """A certificate for a client, whose principal is `User:CN=name` without mapping rules.

        ValueError if the name is too long: a part of it could be the name of another client.
        """
        return self.issue(common_name(name), days=days)

    def issue(self, subject: x509.Name, *, days: int = CERTIFICATE_DAYS, hosts: Sequence[str] = ()) -> KeyPair:
        """A certificate for a client, and with `hosts` for a server there as well. With negative days it has ended."""
        from cryptography import x509
        from cryptography.x509.oid import ExtendedKeyUsageOID

        key = _new_key()
        usages = [*([ExtendedKeyUsageOID.SERVER_AUTH] if hosts else []), ExtendedKeyUsageOID.CLIENT_AUTH]
        own_key = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = (
            _builder(subject, self._certificate.subject, key, days)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
            .add_extension(own_key, critical=False)
        )
        if hosts:
            alternatives = x509.SubjectAlternativeName([_alternative(host) for host in hosts])
            builder = builder.add_extension(alternatives, critical=False)
        return _pem(_signed(builder, self._key), key)


def _new_key() -> EllipticCurvePrivateKey:
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1())


def common_name(name: str) -> x509.Name:
    """ValueError if the name is longer than a common name may be."""
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _shortened(name: str) -> str:
    """A name that fits: of a long one its beginning, and a digest of it all, so that no two become the same."""
    encoded = name.encode()
    if len(encoded) <= NAME_BYTES_MAX:
        return name
    digest = hashlib.sha256(encoded).hexdigest()[:16]
    return f"{encoded[: NAME_BYTES_MAX - 17].decode(errors='ignore')}-{digest}"


def _alternative(host: str) -> x509.GeneralName:
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _builder(subject: x509.Name, issuer: x509.Name, key: EllipticCurvePrivateKey, days: int) -> x509.CertificateBuilder:
    from cryptography import x509

    now = datetime.datetime.now(datetime.UTC)
    end = now + datetime.timedelta(days=days)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(min(now, end) - _CLOCK_SKEW)
        .not_valid_after(end)
    )


def _signed(builder: x509.CertificateBuilder, key: EllipticCurvePrivateKey) -> x509.Certificate:
    from cryptography.hazmat.primitives import hashes

    return builder.sign(key, hashes.SHA256())


def _pem(certificate: x509.Certificate, key: EllipticCurvePrivateKey) -> KeyPair:
    from cryptography.hazmat.primitives import serialization

    no_password = serialization.NoEncryption()
    return KeyPair(
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, no_password),
    )
