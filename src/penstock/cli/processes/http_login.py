"""Requests of commands to an HTTP port of a node, a registry or an edge, with the login of `--command-config`.

The names are those that Kafka clients have: `sasl.username` and `sasl.password` are sent as Basic, `ssl.ca.location`
(or `ssl.truststore.location`) verifies the other side, and a certificate is shown if there is one. A proxy of the
environment (`http_proxy`) is for other machines only: it would be sent the login of a request in plain text.
"""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Final

from penstock.cli.kafka.command_config import security_properties
from penstock.cli.terminal.errors import CommandError, ExitCode
from penstock.client.security.properties import ClientSecurity, SecurityProblem
from penstock.model.text.http_url import check_http_url, is_encrypted, is_this_machine

LOGIN_HINT: Final = "put sasl.username and sasl.password into a file, and name it with --command-config"


class NoAnswer(Exception):
    """Nobody answers at an address, or not as it should; the reason is its text."""


class HttpLogin:
    """One address. CommandError if it cannot be used: `what` names the other side, `hint` says how to write it."""

    def __init__(self, url: str, command_config: Path | None, *, what: str, hint: str) -> None:
        self.url = url.rstrip("/")
        try:
            check_http_url(self.url)
        except ValueError as error:
            raise CommandError(f"the {what}'s URL: {error}", ExitCode.USAGE, hint=hint) from None
        try:
            security = ClientSecurity.of(security_properties(command_config))
            self._context = _context(security) if is_encrypted(self.url) else None
        except SecurityProblem as problem:
            raise CommandError(f"--command-config: {problem}", ExitCode.USAGE) from None
        self._header: str | None = None
        if security.username and security.password is not None:
            pair = f"{security.username}:{security.password}".encode()
            self._header = f"Basic {base64.b64encode(pair).decode()}"
        if self._header is not None and self._context is None and not is_this_machine(self.url):
            raise CommandError(
                "a password would be sent in plain text",
                ExitCode.USAGE,
                hint="write https://…, or leave sasl.username out of the file",
            )
        self._opener = _opener(self.url, self._context)

    def ask(self, method: str, path: str, timeout_s: float, body: object = None) -> Any:
        """The answer to a request, whose body and answer are JSON; None for an empty one.

        urllib.error.HTTPError for a refusal, NoAnswer where nobody answers, or not in JSON; CommandError where one side
        does not trust the certificate of the other.
        """
        request = urllib.request.Request(f"{self.url}{path}", method=method)
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        try:
            with self.open(request, timeout_s) as answer:
                text = answer.read()
            return json.loads(text) if text else None
        except urllib.error.HTTPError:
            raise
        except (OSError, ValueError) as error:
            reason = error.reason if isinstance(error, urllib.error.URLError) else error
            self._check_trust(reason)
            raise NoAnswer(reason) from error

    def _check_trust(self, reason: object) -> None:
        """Name the property to correct, as commands at Kafka ports do; another attempt would fail alike."""
        from penstock.client.security.tls_problem import certificate_problem, tls_problem

        if isinstance(reason, ssl.SSLError):
            is_distrust = isinstance(reason, ssl.SSLCertVerificationError)
            problem = tls_problem(reason) if is_distrust else certificate_problem(reason)
            if problem is not None:
                raise CommandError(f"{self.url} {problem}", hint="properties are in the file of --command-config")

    def open(self, request: urllib.request.Request, timeout_s: float) -> http.client.HTTPResponse:
        """Send a request. OSError, urllib.error.HTTPError among them."""
        if self._header is not None:
            request.add_unredirected_header("Authorization", self._header)
        answer: http.client.HTTPResponse = self._opener.open(request, timeout=timeout_s)
        return answer


def _opener(url: str, context: ssl.SSLContext | None) -> urllib.request.OpenerDirector:
    """An opener that reaches this machine directly, and other machines as the environment says.

    What is sent to another machine with a login has TLS, which a proxy passes on and cannot read.
    """
    handlers: list[urllib.request.BaseHandler] = []
    if context is not None:
        handlers.append(urllib.request.HTTPSHandler(context=context))
    if is_this_machine(url):
        handlers.append(urllib.request.ProxyHandler({}))
    return urllib.request.build_opener(*handlers)


def _context(security: ClientSecurity) -> ssl.SSLContext:
    from penstock.client.security.tls import client_context

    return client_context(security)
