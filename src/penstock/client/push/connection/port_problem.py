"""Why a port closes connections without a word, if it will go on like that: it speaks TLS, or refuses a certificate."""

from __future__ import annotations

from typing import Final

from penstock.client.security.properties import ClientSecurity
from penstock.client.security.tls_port import speaks_tls
from penstock.client.security.tls_problem import SUSPECTED, certificate_problem, is_end

_SPEAKS_TLS: Final = "speaks TLS; set security.protocol to SSL, or to SASL_SSL if it wants a login"


class PortProblem:
    """Of one client. The port is asked once, for it is not the port that changes from one attempt to the next."""

    def __init__(self, host: str, port: int, security: ClientSecurity, timeout_s: float) -> None:
        self._host = host
        self._port = port
        self._security = security
        self._timeout_s = timeout_s
        self._has_asked = False
        self._speaks_tls = False

    def find(self, error: BaseException | None, *, was_heard: bool) -> str | None:
        """The problem, with the address and the fix; `error` is that of a connection on which nothing was heard.

        Unless the broker `was_heard` on another one it may ask the port, and wait for its answer.
        """
        if self._security.has_tls:
            problem = None if error is None else certificate_problem(error)
            if problem is None and self._security.has_certificate and is_end(error):
                problem = SUSPECTED
        else:
            problem = _SPEAKS_TLS if not was_heard and self._asked() else None
        return None if problem is None else f"{self._host}:{self._port} {problem}"

    def _asked(self) -> bool:
        if not self._has_asked and self._port:
            self._has_asked = True
            self._speaks_tls = speaks_tls(self._host, self._port, self._timeout_s)
        return self._speaks_tls
