"""SaslAuthenticate, requests. Made by `python -m tools.wire_types`; do not edit."""

from typing import TypedDict

class SaslAuthenticateRequest:
    auth_bytes: bytes

class SaslAuthenticateRequestValues(TypedDict, total=False):
    auth_bytes: bytes
