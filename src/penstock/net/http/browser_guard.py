"""Rules that keep web pages of others away from an HTTP port, which a browser of the same machine can reach.

    Host               has to be a name of this port (`allowed_hosts`), for every method: DNS rebinding
    Origin             of another host, or `Sec-Fetch-Site` of another site, may not change anything: CSRF
    Content-Length     beside `Transfer-Encoding` is refused: a proxy could take the rest of a body for a request
    a query            has few parameters: the web stack takes apart each of them on the event loop
    every answer       is not to be guessed at, framed, embedded elsewhere, or to run anything

There are no CORS headers: no page of another origin may read an answer. The rules hold before the session gate, so that
a browser's cookies and certificates are of no use to such a page.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from penstock.net.http.allowed_hosts import AllowedHosts, Authority, is_always_allowed
from penstock.net.http.api_page import STYLE_HASH
from penstock.net.http.problem import Header, send_problem

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_PORTS: Final = {"http": 80, "https": 443}
_READING: Final = frozenset(("GET", "HEAD", "OPTIONS"))
_OWN_SITES: Final = frozenset((b"same-origin", b"none"))
_POLICY: Final = (
    f"default-src 'none'; style-src '{STYLE_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
QUERY_PARAMETERS_MAX: Final = 100
"""No path takes more than a few."""
SAFETY_HEADERS: Final[tuple[Header, ...]] = (
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", _POLICY.encode()),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


class BrowserGuard:
    """Middleware around a whole application, outside of its session gate."""

    def __init__(self, app: ASGIApp, hosts: AllowedHosts) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = message.get("headers", [])
                names = {name for name, _ in given}
                message["headers"] = [*given, *(each for each in SAFETY_HEADERS if each[0] not in names)]
            await send(message)

        refusal = self._refusal(scope)
        if refusal is None:
            await self._app(scope, receive, send_safely)
        else:
            status, detail = refusal
            # The body has not been read, so that the connection is of no further use.
            await send_problem(send_safely, status, detail, scope["path"], [(b"connection", b"close")])

    def _refusal(self, scope: Scope) -> tuple[HTTPStatus, str] | None:
        host = _first(scope, b"host")
        if not host:
            return HTTPStatus.BAD_REQUEST, "a request has a Host header, with the name or address of this port"
        if not self._hosts.allow(host.decode("latin-1")):
            otherwise = "" if self._hosts.setting is None else f", or add the name to {self._hosts.setting}"
            detail = f"this port is not known under the name in the Host header; use its address{otherwise}"
            return HTTPStatus.MISDIRECTED_REQUEST, detail
        if {b"content-length", b"transfer-encoding"} <= {name for name, _ in scope["headers"]}:
            return HTTPStatus.BAD_REQUEST, "a request has Content-Length or Transfer-Encoding, not both"
        if scope["query_string"].count(b"&") >= QUERY_PARAMETERS_MAX:
            return HTTPStatus.BAD_REQUEST, f"a query has at most {QUERY_PARAMETERS_MAX} parameters"
        if scope["method"] not in _READING and _is_foreign(scope, host):
            return HTTPStatus.FORBIDDEN, "a page of another origin may not change anything here"
        return None


def _is_foreign(scope: Scope, host: bytes) -> bool:
    """Whether a browser sends this on behalf of a page that is not of this port."""
    for name, value in scope["headers"]:
        if name == b"sec-fetch-site" and value not in _OWN_SITES:
            return True
        if name == b"origin" and not _is_same(value.decode("latin-1"), host.decode("latin-1"), scope["scheme"]):
            return True
    return False


def _is_same(origin: str, host: str, own_scheme: str) -> bool:
    scheme, _, rest = origin.partition("://")
    page, own = Authority.of(rest), Authority.of(host)
    if page is None or own is None or scheme not in _PORTS:
        return False
    # A proxy in front of the port may end TLS; such a proxy has a name.
    is_same_scheme = scheme == own_scheme or (scheme == "https" and not is_always_allowed(own.host))
    default = _PORTS[scheme]
    is_same_port = _port(page, default) == _port(own, default)
    return is_same_scheme and page.host == own.host and is_same_port


def _port(authority: Authority, default: int) -> int:
    return default if authority.port is None else authority.port


def _first(scope: Scope, wanted: bytes) -> bytes:
    return next((value.strip() for name, value in scope["headers"] if name == wanted), b"")
