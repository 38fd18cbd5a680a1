"""SaslAuthenticate, replies. Made by `python -m tools.wire_types`; do not edit."""

from datetime import timedelta
from typing import Literal

from kio.schema.errors import ErrorCode

class SaslAuthenticateResponse:
    error_code: ErrorCode
    error_message: str | None
    auth_bytes: bytes
    session_lifetime: timedelta  # v1+

_SaslAuthenticateResponse = SaslAuthenticateResponse

class SaslAuthenticateBuilders:
    version: int
    def has(self, name: Literal["SaslAuthenticateResponse"]) -> bool: ...
    def SaslAuthenticateResponse(
        self,
        *,
        error_code: ErrorCode | int,
        error_message: str | None,
        auth_bytes: bytes,
        session_lifetime: timedelta | int = ...,
    ) -> _SaslAuthenticateResponse: ...
