"""URLs of HTTP ports that come from settings and from other nodes: the checks, with messages that do not repeat them.

A URL is what a node connects to, so it must be no more than scheme, host, port and path: a user name or password in
it would appear in logs and status pages, and a host that only `getaddrinfo` understands (a bare number, octal
parts) would hide the address behind it.
"""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

URL_CHARACTERS_MAX = 2_048

_LABELS = re.compile(r"(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.?", re.I)
_NUMERIC = re.compile(r"(?:\d+|0x[0-9a-f]*)\.?", re.I)
# An @ right after the colon is the name of a socket in the abstract namespace, abstract:@name.
_CREDENTIALS = re.compile(r"//[^/@]*@|(?:^|,)[^/@,]*:[^/@,]+@")
_FOREIGN = re.compile(r"[^\x21-\x7e]|[\\\"<>^`{|}]")


def check_http_url(url: str) -> str:
    """Return the URL of an HTTP port as it is. ValueError says what is wrong with it, never what it is."""
    if len(url) > URL_CHARACTERS_MAX:
        raise ValueError(f"a URL of more than {URL_CHARACTERS_MAX} characters")
    if _FOREIGN.search(url):
        raise ValueError("a URL must not have spaces, control characters or characters outside ASCII")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ValueError("not a URL; write http://host:port") from None
    if parts.scheme not in ("http", "https") or not host:
        raise ValueError("not the URL of an HTTP port; write http://host:port")
    check_no_credentials(url)
    if "?" in url or "#" in url:
        raise ValueError("the URL of an HTTP port has no query and no fragment")
    if port == 0 or parts.netloc.endswith(":"):
        raise ValueError("the URL's port should be 1 to 65535, or left out for that of the scheme")
    _check_host(host, bracketed="[" in parts.netloc)
    return url


def check_node_url(url: str) -> str:
    """Return the URL of a node that others are told to connect to; stricter than one that an administrator chose."""
    address = address_in(check_http_url(url))
    if address is not None:
        check_address(address)
    return url


def address_in(url: str) -> Address | None:
    """The host of a URL, if it is an address and not a name."""
    try:
        return ipaddress.ip_address(urlsplit(url).hostname or "")
    except ValueError:
        return None


def check_address(address: Address) -> None:
    """Refuse an address that is nobody's own: "every address", a group, or one that means another machine on every
    network, such as 169.254.169.254, where clouds hand out credentials.
    """
    address = _inner(address)
    if address.is_unspecified or address.is_multicast or address.is_link_local:
        raise ValueError("the URL's host is an address that no other machine can use; write one of the node's own")


def is_loopback(address: Address) -> bool:
    """Whether what is sent to an address may come out within this machine."""
    return _inner(address).is_loopback


def _inner(address: Address) -> Address:
    """The IPv4 address that an IPv6 one stands for, as systems use it."""
    if isinstance(address, ipaddress.IPv6Address):
        return address.ipv4_mapped or address.sixtofour or address
    return address


def is_encrypted(url: str) -> bool:
    return urlsplit(url).scheme == "https"


def is_this_machine(url: str) -> bool:
    """Whether nothing that is sent to a URL leaves this machine."""
    address = address_in(url)
    if address is None:
        return (urlsplit(url).hostname or "").lower().removesuffix(".") == "localhost"
    if isinstance(address, ipaddress.IPv6Address):
        address = address.ipv4_mapped or address
    return address.is_loopback


def check_encryption(url: str, section: str, *, has_login: bool, expects_tls: bool) -> None:
    """Refuse a URL to which a login would be sent in plain text, or at which nobody is verified as settings ask for."""
    if is_encrypted(url):
        return
    if expects_tls:
        raise ValueError(f"{section}.ca_file and {section}.certificate_file are for https, and the URL has no https")
    if has_login and not is_this_machine(url):
        raise ValueError(
            f"the login of {section} would be sent in plain text; the URL has to begin with https, or be this machine's"
        )


def has_credentials(address: str) -> bool:
    """Whether an address has a user name or a password: `//user@`, or `user:password@` without slashes before it."""
    return _CREDENTIALS.search(address) is not None


def check_no_credentials(address: str) -> str:
    """Refuse `user:password@` in an address of any form, without repeating it."""
    if has_credentials(address):
        raise ValueError(
            "a user name or password must not be part of an address; credentials are settings of their own"
        )
    return address


def _check_host(host: str, *, bracketed: bool) -> None:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        if bracketed or len(host) > 253 or _LABELS.fullmatch(host) is None:
            raise ValueError("the URL's host is neither a name nor an IP address") from None
        if _NUMERIC.fullmatch(host.rstrip(".").rpartition(".")[2]):
            raise ValueError("the URL's host looks like a number; write an IP address in full") from None
