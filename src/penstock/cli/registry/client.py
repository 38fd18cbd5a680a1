"""HTTP client of the registry for commands; a refusal becomes a message and an exit code."""

from __future__ import annotations

import json
import urllib.error
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import quote

from penstock.cli.processes.http_login import LOGIN_HINT, HttpLogin, NoAnswer
from penstock.cli.terminal.errors import CommandError, ExitCode, not_found

DEFAULT_URL = "http://localhost:8080"
TIMEOUT_S = 10


class RegistryClient:
    def __init__(self, url: str, command_config: Path | None = None) -> None:
        hint = "write, for instance, http://localhost:8080 (--registry, REGISTRY_URL); https where it has TLS"
        self._login = HttpLogin(url, command_config, what="registry", hint=hint)
        self._url = self._login.url

    def nodes(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._ask("GET", "/nodes")["nodes"]
        return found

    def node(self, node_id: str) -> dict[str, Any]:
        found: dict[str, Any] = self._ask("GET", f"/nodes/{quote(node_id, safe='')}", node_id)
        return found

    def set_parent(self, node_id: str, parent_id: str | None) -> dict[str, Any]:
        path = f"/nodes/{quote(node_id, safe='')}/parent"
        changed: dict[str, Any] = self._ask("PUT", path, node_id, parent_id, body={"parentId": parent_id})
        return changed

    def remove(self, node_id: str) -> None:
        self._ask("DELETE", f"/nodes/{quote(node_id, safe='')}", node_id)

    def _ask(self, method: str, path: str, *named: str | None, body: object = None) -> Any:
        try:
            return self._login.ask(method, f"/registry{path}", TIMEOUT_S, body)
        except urllib.error.HTTPError as error:
            with error:
                raise self._refusal(error, named) from error
        except NoAnswer as error:
            raise CommandError(
                f"no registry at {self._url} ({error})",
                ExitCode.UNREACHABLE,
                hint="start one with `penstock registry serve`, or name another with --registry or REGISTRY_URL",
            ) from error

    def _refusal(self, error: urllib.error.HTTPError, named: tuple[str | None, ...]) -> CommandError:
        try:
            problem = json.loads(error.read())
            kind, detail = problem["type"], str(problem["detail"])
        except (ValueError, KeyError, TypeError):
            return CommandError(f"{self._url} answered {error.code}, but it is not a registry", ExitCode.UNREACHABLE)
        if error.code == HTTPStatus.UNAUTHORIZED:
            return CommandError(detail, ExitCode.FAILURE, hint=LOGIN_HINT)
        if error.code == HTTPStatus.NOT_FOUND and kind == "unknown-node":
            known = [node["nodeId"] for node in self.nodes()]
            missing = next((name for name in named if name is not None and name not in known), None)
            if missing is not None:
                return not_found("node", missing, known, "`penstock registry list` shows all nodes")
        usage = error.code == HTTPStatus.UNPROCESSABLE_ENTITY
        return CommandError(detail, ExitCode.USAGE if usage else ExitCode.FAILURE)
