"""A raw connection that logs in, step by step."""

from __future__ import annotations

from typing import Any

from kio.schema.errors import ErrorCode
from scramp import ScramClient

from tests.support.raw_client import RawClient

SCRAM_256, SCRAM_512, PLAIN = "SCRAM-SHA-256", "SCRAM-SHA-512", "PLAIN"


class SaslClient(RawClient):
    """Every step is a method, so that a test can leave one out or change it."""

    def handshake(self, mechanism: str, version: int = 1) -> ErrorCode:
        code = self.call("sasl_handshake", version, mechanism=mechanism).error_code
        assert isinstance(code, ErrorCode)
        return code

    def authenticate(self, token: bytes, version: int = 2) -> Any:
        return self.call("sasl_authenticate", version, auth_bytes=token)

    def plain(self, user: str, password: str, authorization_id: str = "") -> Any:
        """Log in with PLAIN; the answer."""
        assert self.handshake(PLAIN) == ErrorCode.none
        return self.authenticate(f"{authorization_id}\0{user}\0{password}".encode())

    def scram(self, user: str, password: str, mechanism: str = SCRAM_256, version: int = 2) -> Any:
        """Log in with SCRAM; the last answer, which must prove that the broker knows the user."""
        assert self.handshake(mechanism) == ErrorCode.none
        return self.exchange(user, password, mechanism, version)

    def exchange(self, user: str, password: str, mechanism: str = SCRAM_256, version: int = 2) -> Any:
        """The messages of SCRAM that follow the handshake; the last answer."""
        client = ScramClient([mechanism], user, password)
        answer = self.authenticate(client.get_client_first().encode(), version)
        assert answer.error_code == ErrorCode.none, answer
        client.set_server_first(answer.auth_bytes.decode())
        answer = self.authenticate(client.get_client_final().encode(), version)
        if answer.error_code == ErrorCode.none:
            client.set_server_final(answer.auth_bytes.decode())
        return answer

    def is_served(self) -> bool:
        """Whether a request after the login is answered."""
        return bool(self.call("list_groups", 4).error_code == ErrorCode.none)

    def is_closed(self, within_s: float = 15.0) -> bool:
        """Whether the broker closes the connection without another byte."""
        self.settimeout(within_s)
        try:
            return self._socket.recv(1) == b""
        except ConnectionResetError:
            return True
        except TimeoutError:
            return False
