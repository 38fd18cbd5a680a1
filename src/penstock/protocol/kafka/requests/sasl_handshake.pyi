"""SaslHandshake, requests. Made by `python -m tools.wire_types`; do not edit."""

from typing import TypedDict

class SaslHandshakeRequest:
    mechanism: str

class SaslHandshakeRequestValues(TypedDict, total=False):
    mechanism: str
