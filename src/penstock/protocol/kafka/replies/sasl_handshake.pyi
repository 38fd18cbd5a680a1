"""SaslHandshake, replies. Made by `python -m tools.wire_types`; do not edit."""

from collections.abc import Sequence
from typing import Literal

from kio.schema.errors import ErrorCode

class SaslHandshakeResponse:
    error_code: ErrorCode
    mechanisms: tuple[str, ...]

_SaslHandshakeResponse = SaslHandshakeResponse

class SaslHandshakeBuilders:
    version: int
    def has(self, name: Literal["SaslHandshakeResponse"]) -> bool: ...
    def SaslHandshakeResponse(
        self,
        *,
        error_code: ErrorCode | int,
        mechanisms: Sequence[str] = ...,
    ) -> _SaslHandshakeResponse: ...
