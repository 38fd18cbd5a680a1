"""Requests to the HTTP port of a node, for commands about one node rather than its cluster."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.cli.processes.http_login import LOGIN_HINT, HttpLogin, NoAnswer
from penstock.cli.terminal.errors import CommandError, ExitCode

DEFAULT_URL = "http://localhost:8080"
TIMEOUT_S = 30

NodeUrl = Annotated[
    str, typer.Option("--url", envvar="PENSTOCK_URL", metavar="URL", help="HTTP address of the node.", show_envvar=True)
]


def ask_node(url: str, path: str, command_config: Path | None = None, *, method: str = "GET", **query: str) -> Any:
    """Return the JSON answer of the node; CommandError with its reason otherwise."""
    login = HttpLogin(url, command_config, what="node", hint="write http://host:port, https where it has TLS")
    path += "?" + urllib.parse.urlencode(query) if query else ""
    try:
        answer = login.ask(method, path, TIMEOUT_S)
        if answer is None:
            raise NoAnswer("an empty answer")
        return answer
    except urllib.error.HTTPError as error:
        raise _refused(login.url + path, error) from error
    except NoAnswer as error:
        raise CommandError(
            f"{url} cannot be reached ({error})",
            ExitCode.UNREACHABLE,
            hint="give the HTTP address of the node with --url; https where it has TLS",
        ) from error


def _refused(address: str, error: urllib.error.HTTPError) -> CommandError:
    try:
        detail = json.load(error).get("detail")
    except ValueError:
        detail = None
    code = ExitCode.NOT_FOUND if error.code == 404 else ExitCode.FAILURE
    hint = LOGIN_HINT if error.code == HTTPStatus.UNAUTHORIZED else ""
    return CommandError(detail or f"{address} answered {error.code} {error.reason}", code, hint=hint)
