"""HTTP client of a node's admin API for commands; a refusal becomes a message and an exit code.

The login is that of `--command-config`, under the names that Kafka clients have: `sasl.username` and `sasl.password`
are sent as Basic, `ssl.ca.location` verifies the node, `ssl.certificate.location` and `ssl.key.location` are shown.
"""

from __future__ import annotations

import base64
import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import quote, urlsplit

import typer

from penstock.cli.kafka.command_config import read_command_config
from penstock.cli.terminal.errors import CommandError, ExitCode
from penstock.model.text.http_url import check_http_url

DEFAULT_URL: Final = "http://localhost:8080"
TIMEOUT_S: Final = 30
_FLAG: Final = "--url or PENSTOCK_URL"

NodeUrl = Annotated[
    str,
    typer.Option("--url", metavar="URL", envvar="PENSTOCK_URL", help="The node's HTTP port; https where it has TLS."),
]


class AdminApi:
    def __init__(self, url: str, command_config: Path | None) -> None:
        self._url = url.rstrip("/")
        try:
            check_http_url(self._url)
        except ValueError as error:
            raise CommandError(f"the node's URL: {error}", ExitCode.USAGE, hint=f"see {_FLAG}") from None
        given = dict(each.split("=", 1) for each in read_command_config(command_config))
        self._login = _login(given)
        self._context = _context(given) if self._url.startswith("https:") else None
        if self._login is not None and self._context is None and not _is_this_machine(self._url):
            hint = "write https://…, or leave sasl.username out of the file"
            raise CommandError("a password would be sent in plain text", ExitCode.USAGE, hint=hint)

    def ask(self, method: str, path: str, body: object = None) -> Any:
        request = urllib.request.Request(f"{self._url}/api/v1{path}", method=method)
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        if self._login is not None:
            request.add_unredirected_header("Authorization", self._login)
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S, context=self._context) as answer:
                text = answer.read()
            return json.loads(text) if text else None
        except urllib.error.HTTPError as error:
            with error:
                raise self._refusal(error) from error
        except (OSError, ValueError) as error:
            reason = error.reason if isinstance(error, urllib.error.URLError) else error
            hint = f"name the HTTP port of a node that runs with {_FLAG}; https where it has TLS"
            raise CommandError(f"no node at {self._url} ({reason})", ExitCode.UNREACHABLE, hint=hint) from error

    def all_of(self, path: str, field: str, query: str = "") -> list[Any]:
        """The entries of a list that comes in pages; `query` is behind the limit, with its `&`."""
        found: list[Any] = []
        cursor = ""
        while True:
            page = self.ask("GET", f"{path}?limit=1000{query}{cursor}")
            found += page[field]
            if page["next_cursor"] is None:
                return found
            cursor = f"&cursor={quote(page['next_cursor'], safe='')}"

    def _refusal(self, error: urllib.error.HTTPError) -> CommandError:
        try:
            detail = str(json.loads(error.read())["detail"])
        except (ValueError, KeyError, TypeError):
            return CommandError(f"{self._url} answered {error.code}, but it is not a node", ExitCode.UNREACHABLE)
        if error.code == HTTPStatus.UNAUTHORIZED:
            hint = "put sasl.username and sasl.password into a file, and name it with --command-config"
            return CommandError(detail, ExitCode.FAILURE, hint=hint)
        if error.code == HTTPStatus.NOT_FOUND:
            return CommandError(detail, ExitCode.NOT_FOUND)
        return CommandError(detail, ExitCode.USAGE if error.code == HTTPStatus.BAD_REQUEST else ExitCode.FAILURE)


def _login(given: Mapping[str, str]) -> str | None:
    user, password = given.get("sasl.username"), given.get("sasl.password")
    if not user or password is None:
        return None
    return f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"


def _context(given: Mapping[str, str]) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=given.get("ssl.ca.location"))
        if certificate := given.get("ssl.certificate.location"):
            context.load_cert_chain(certificate, given.get("ssl.key.location"), given.get("ssl.key.password"))
    except (OSError, ssl.SSLError) as error:
        raise CommandError(f"the certificates of --command-config: {error}", ExitCode.USAGE) from error
    return context


def _is_this_machine(url: str) -> bool:
    host = urlsplit(url).hostname
    return host in ("localhost", "127.0.0.1", "::1")
