"""The names under which an HTTP port may be addressed: DNS rebinding makes a browser address it under another one.

A page of evil.example can have its own name resolve to 127.0.0.1, and then reads from this port as if it were its own
server; only the header `Host` still has the foreign name. An address is no name that somebody could rebind.
"""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final, NamedTuple
from urllib.parse import urlsplit

SETTING: Final = "http.allowed_hosts"
_AUTHORITY: Final = re.compile(
    r"(?:\[([0-9a-f:.]+(?:%[\w.~-]+)?)\]|([\w.-]+))(?::(\d{0,5}))?", re.ASCII | re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class AllowedHosts:
    """Names in lower case, besides `localhost` and every IP address. `setting` is what adds one, if there is one."""

    names: frozenset[str] = frozenset()
    setting: str | None = SETTING

    @classmethod
    def of(cls, *names: str | None, setting: str | None = SETTING) -> AllowedHosts:
        """These names, and the one of this machine, which is no more in a stranger's hand than they are."""
        return cls(frozenset(_plain(name) for name in (*names, socket.gethostname()) if name), setting)

    def allow(self, host: str) -> bool:
        """Whether a request with this `Host` is for this port; it may have a port."""
        authority = Authority.of(host)
        return authority is not None and (is_always_allowed(authority.host) or authority.host in self.names)


class Authority(NamedTuple):
    """Host and port, as a browser sends them in `Host` and `Origin`: nothing around them, and nothing in between."""

    host: str
    """In lower case, and without the dot that may end it."""
    port: int | None

    @classmethod
    def of(cls, text: str) -> Authority | None:
        """None for anything else: URLs have parts behind which another name can hide."""
        found = _AUTHORITY.fullmatch(text)
        if found is None:
            return None
        address, name, port = found.groups()
        return cls(_plain(address or name), int(port) if port else None)


def is_always_allowed(name: str) -> bool:
    """Whether every port answers to the name: an address, or `localhost`."""
    try:
        ip_address(name)
    except ValueError:
        return _plain(name) == "localhost"
    return True


def host_of(url: str | None) -> str | None:
    """The host of a URL."""
    return urlsplit(url).hostname if url else None


def _plain(name: str) -> str:
    return name.lower().removesuffix(".")
