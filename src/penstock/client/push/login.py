"""The login of a push client: on each new connection, and again before its session ends (KIP-368). No I/O, no clock."""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import Final

from penstock.client.push.errors import LoginFailed
from penstock.client.security.login import LoginRefused, login_steps
from penstock.client.security.properties import ClientSecurity
from penstock.protocol.push.messages import Authenticate, AuthenticateAck

LIFETIME_SHARE: Final = 0.85
"""The part of a session after which the client logs in again."""


class ClientLogin:
    """Owned by the core of a client. `again_at` is the time of the next login on the same connection."""

    def __init__(self, security: ClientSecurity) -> None:
        self._security = security
        self._mechanism = security.mechanism or ""
        self._steps: Generator[bytes, bytes] | None = None
        self.again_at = math.inf

    def begin(self) -> Authenticate:
        """The first step."""
        self.again_at = math.inf
        self._steps = login_steps(self._security)
        return Authenticate(self._mechanism, next(self._steps))

    def answered(self, answer: AuthenticateAck, now: float) -> Authenticate | None:
        """The next step; None if the login is done. Raises LoginFailed."""
        assert self._steps is not None
        try:
            return Authenticate(self._mechanism, self._steps.send(answer.message))
        except StopIteration:
            if answer.lifetime_ms:
                self.again_at = now + answer.lifetime_ms / 1000 * LIFETIME_SHARE
            return None
        except LoginRefused as refused:
            raise LoginFailed(str(refused)) from None
