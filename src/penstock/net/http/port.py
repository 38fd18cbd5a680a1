"""The port of a web server: its socket, and the rules for the connections and requests that come in there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from penstock.net.admission.door import Door
from penstock.net.endpoint import Endpoint
from penstock.net.http.allowed_hosts import AllowedHosts
from penstock.net.http.login.request_login import RequestLogin
from penstock.net.http.stall_watch import HttpTimes
from penstock.net.tls.server import Listening, address_of

BODIES_BYTES_MAX: Final = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpPort:
    listening: Listening
    admission: Door
    hosts: AllowedHosts = field(default_factory=AllowedHosts)
    times: HttpTimes = field(default_factory=HttpTimes)
    login: RequestLogin | None = None
    """Says who sends a request; None if the port asks nobody."""
    bodies_bytes_max: int = BODIES_BYTES_MAX
    """Of all bodies that are under way."""

    @property
    def number(self) -> int:
        return self.address.port

    @property
    def address(self) -> Endpoint:
        return address_of(self.listening)
