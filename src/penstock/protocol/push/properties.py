"""Properties of a message: `key=value` with a NUL after each; `=`, NUL and `%` percent-encoded, nothing else.

Keys and values are bytes, like the headers of a record. A property without `=` has a null value. Other spellings are
still read: a `%` that begins none of the three codes stands for itself.
"""

from __future__ import annotations

Properties = tuple[tuple[bytes, bytes | None], ...]


def encode_properties(properties: Properties) -> bytes:
    parts = []
    for key, value in properties:
        parts.append(_escape(key) if value is None else b"%b=%b" % (_escape(key), _escape(value)))
        parts.append(b"\0")
    return b"".join(parts)


def decode_properties(data: bytes) -> Properties:
    """ValueError where the last property has no NUL after it."""
    if not data:
        return ()
    items = data.split(b"\0")
    if items.pop():
        raise ValueError("the last property has no NUL after it")
    found: list[tuple[bytes, bytes | None]] = []
    for item in items:
        key, equals, value = item.partition(b"=")
        found.append((_unescape(key), _unescape(value) if equals else None))
    return tuple(found)


def _escape(data: bytes) -> bytes:
    if b"%" in data:
        data = data.replace(b"%", b"%25")
    if b"=" in data:
        data = data.replace(b"=", b"%3D")
    return data.replace(b"\0", b"%00") if b"\0" in data else data


def _unescape(data: bytes) -> bytes:
    if b"%" not in data:
        return data
    # The percent sign last: what it yields must not be taken for the beginning of another code.
    for code in (b"%3D", b"%3d"):
        data = data.replace(code, b"=")
    return data.replace(b"%00", b"\0").replace(b"%25", b"%")
