"""HTTP client of a node's admin API for commands; a refusal becomes a message and an exit code."""

from __future__ import annotations

import json
import urllib.error
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import quote

import typer

from penstock.cli.processes.http_login import LOGIN_HINT, HttpLogin, NoAnswer
from penstock.cli.terminal.errors import CommandError, ExitCode

DEFAULT_URL: Final = "http://localhost:8080"
TIMEOUT_S: Final = 30
_FLAG: Final = "--url or PENSTOCK_URL"

NodeUrl = Annotated[
    str,
    typer.Option("--url", metavar="URL", envvar="PENSTOCK_URL", help="The node's HTTP port; https where it has TLS."),
]


class AdminApi:
    def __init__(self, url: str, command_config: Path | None) -> None:
        self._login = HttpLogin(url, command_config, what="node", hint=f"see {_FLAG}")
        self._url = self._login.url

    def ask(self, method: str, path: str, body: object = None) -> Any:
        try:
            return self._login.ask(method, f"/api/v1{path}", TIMEOUT_S, body)
        except urllib.error.HTTPError as error:
            with error:
                raise self._refusal(error) from error
        except NoAnswer as error:
            hint = f"name the HTTP port of a node that runs with {_FLAG}; https where it has TLS"
            raise CommandError(f"no node at {self._url} ({error})", ExitCode.UNREACHABLE, hint=hint) from error

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
            return CommandError(detail, ExitCode.FAILURE, hint=LOGIN_HINT)
        if error.code == HTTPStatus.NOT_FOUND:
            return CommandError(detail, ExitCode.NOT_FOUND)
        return CommandError(detail, ExitCode.USAGE if error.code == HTTPStatus.BAD_REQUEST else ExitCode.FAILURE)
