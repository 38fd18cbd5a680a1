"""The rules for parents that a registry names, beyond those for a parent that an administrator has chosen.

    addresses    none that is nobody's own (`check_address`), and none inside this machine unless the registry is, too
    login        a password or a token is sent to a parent that `pipe.ca_file` verifies, and to no other

A registry that means no good could otherwise have a node ask any service of its own machine, or tell its password to
whoever has a certificate of an authority that the system trusts.
"""

from __future__ import annotations

import errno
import ipaddress
import socket
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from penstock.config.settings import HttpClientSettings
from penstock.model.text.http_url import Address, address_in, check_address, is_loopback, is_this_machine

if TYPE_CHECKING:
    from aiohttp.abc import ResolveResult

_WITHIN: Final = (
    "the registry names a parent inside this machine, where registry.url says that the registry is elsewhere; set"
    " pipe.parent_url if that is the parent, or write localhost into registry.url if the registry is on this machine"
)
_UNVERIFIED: Final = (
    "the login of pipe is sent only to a parent that pipe.ca_file verifies, because the registry names it; set"
    " pipe.ca_file, or pipe.parent_url"
)


class NamedParents:
    """The parents that the registry at `registry_url` names."""

    def __init__(self, settings: HttpClientSettings, registry_url: str) -> None:
        self._is_unverified = settings.has_login and settings.ca_file is None
        # An administrator who writes this machine's own name has the registry here; what it resolves to does not count.
        is_own_name = (urlsplit(registry_url).hostname or "") == socket.gethostname().lower()
        self._may_be_within = is_own_name or is_this_machine(registry_url)

    def check(self, url: str) -> None:
        """ValueError if the URL must not be asked. The addresses of a name are known when it is resolved."""
        if self._is_unverified:
            raise ValueError(_UNVERIFIED)
        address = address_in(url)
        if address is not None:
            self._check_address(address)
        elif is_this_machine(url) and not self._may_be_within:
            raise ValueError(_WITHIN)

    def admitted(self, found: list[ResolveResult]) -> list[ResolveResult]:
        """The addresses of a name that may be asked. OSError if there are none."""
        admitted = []
        reason = "the name has no address"
        for each in found:
            try:
                self._check_address(ipaddress.ip_address(each["host"]))
                admitted.append(each)
            except ValueError as error:
                reason = str(error)
        if not admitted:
            raise OSError(errno.EADDRNOTAVAIL, reason)
        return admitted

    def _check_address(self, address: Address) -> None:
        check_address(address)
        if is_loopback(address) and not self._may_be_within:
            raise ValueError(_WITHIN)
