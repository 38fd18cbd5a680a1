"""Names and addresses by which clients reach a node, for its certificate and its settings."""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import ip_address
from typing import Final

from penstock.cli.terminal.errors import CommandError, ExitCode

HOST: Final = re.compile(r"(\*\.)?[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?")
"""Also a pattern, which a certificate may have in the place of a name."""
LOCAL_HOSTS: Final = ("localhost", "127.0.0.1", "::1")
"""In each certificate of a node: commands on its machine use them."""


def check_hosts(hosts: Iterable[str]) -> None:
    """Names stand in the certificate and in the settings: one that is none would make both useless."""
    for host in hosts:
        try:
            ip_address(host)
        except ValueError:
            parts = host.split(".")
            looks_like_address = len(parts) == 4 and all(part.isdecimal() for part in parts)  # as 999.1.1.1 does
            if len(host) > 253 or HOST.fullmatch(host) is None or looks_like_address:
                hint = "give a name or an IP address alone, without a scheme or a port"
                raise CommandError(f"{host!r} is no host", ExitCode.USAGE, hint=hint) from None
