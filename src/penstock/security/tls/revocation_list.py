"""The list of revoked certificates of an authority of one's own. Everything is PEM, in memory.

What was revoked stays so in every later list. Without a day given a list counts until its authority ends: nodes refuse
every client whose authority has only lists that are out of date, and a list that people write is not renewed in time by
itself. The authority's own end, at which nobody gets in either, is the latest that makes sense.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from cryptography import x509

    from penstock.security.tls.authority import Authority

SERIAL_BITS_MAX: Final = 159
"""The most that a serial number may have (RFC 5280: 20 bytes, positive)."""
_BEGIN: Final = b"-----BEGIN X509 CRL-----"
_CLOCK_SKEW: Final = datetime.timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class RevocationList:
    """The revoked certificates by their serial numbers, and the number of the list, which grows."""

    number: int = 0
    entries: Mapping[int, x509.RevokedCertificate] = field(default_factory=dict)

    @classmethod
    def parse(cls, pem: bytes, authority: Authority) -> RevocationList:
        """ValueError if the text is anything but one list of this authority."""
        from cryptography import x509

        if pem.count(_BEGIN) > 1:
            raise ValueError("it has several lists, of which those of other authorities would be lost")
        found = x509.load_pem_x509_crl(pem)
        if not authority.has_signed(found):
            raise ValueError("it is not a list of this authority")
        try:
            number = found.extensions.get_extension_for_class(x509.CRLNumber).value.crl_number
        except x509.ExtensionNotFound:
            number = 0
        return cls(number, {entry.serial_number: entry for entry in found})

    def with_revoked(self, serials: Iterable[int], now: datetime.datetime) -> RevocationList:
        """The same with further certificates; the day of those that it has already stays."""
        from cryptography import x509

        added = {
            serial: x509.RevokedCertificateBuilder().serial_number(serial).revocation_date(now).build()
            for serial in serials
            if serial not in self.entries
        }
        return replace(self, entries={**self.entries, **added})

    def signed(self, authority: Authority, now: datetime.datetime, days: int | None) -> tuple[bytes, datetime.datetime]:
        """The next list in PEM, and until when it counts. ValueError if the authority has ended."""
        from cryptography import x509

        end = authority.ends_at
        if end <= now:
            raise ValueError(f"the authority has ended on {end:%Y-%m-%d}, and nobody gets in with its certificates")
        if days is not None:
            end = min(end, now + datetime.timedelta(days=days))
        builder = (
            x509.CertificateRevocationListBuilder()
            .last_update(now - _CLOCK_SKEW)
            .next_update(end)
            .add_extension(x509.CRLNumber(self.number + 1), critical=False)
        )
        for entry in self.entries.values():
            builder = builder.add_revoked_certificate(entry)
        return authority.sign_list(builder), end
