"""The subject of a certificate as Java prints it, in the form of RFC 2253: Kafka's rules and ACLs are written for that.

The last part of the name comes first. Attributes with a keyword of the RFC are text, all others are their number and
the bytes of their value in hexadecimal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from cryptography.x509 import NameAttribute

_KEYWORDS: Final = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.1": "UID",
    "0.9.2342.19200300.100.1.25": "DC",
}
_SPECIAL: Final = frozenset(',=+<>#;"\\')


def subject_of(certificate: bytes) -> str:
    """The subject of a certificate in DER. ValueError if it is none."""
    from cryptography import x509  # loaded with the first client that shows a certificate

    parsed = x509.load_der_x509_certificate(certificate)
    return ",".join("+".join(map(_attribute, rdn)) for rdn in reversed(parsed.subject.rdns))


def _attribute(attribute: NameAttribute[str | bytes]) -> str:
    number = attribute.oid.dotted_string
    keyword, value = _KEYWORDS.get(number), attribute.value
    if keyword is None or isinstance(value, bytes):
        raw = value if isinstance(value, bytes) else value.encode()
        return f"{number}=#{_tagged(attribute._type.value, raw).hex()}"
    return f"{keyword}={_escaped(value)}"


def _tagged(tag: int, raw: bytes) -> bytes:
    """The value in DER."""
    size = len(raw)
    if size < 0x80:
        return bytes((tag, size)) + raw
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes((tag, 0x80 | len(length))) + length + raw


def _escaped(text: str) -> str:
    bare = text.strip(" \r")
    lead = text[: len(text) - len(text.lstrip(" \r"))]
    trail = text[len(lead) + len(bare) :]
    escaped = "".join(f"\\{character}" if character in _SPECIAL else character for character in bare)
    return "".join(f"\\{space}" for space in lead) + escaped + "".join(f"\\{space}" for space in trail)
