"""The users file of a registry or an edge application, changed by commands; a process that uses it reads it again."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.security.user_requests import Credentials
from penstock.cli.terminal.errors import CommandError, ExitCode, not_found
from penstock.config.secret_file import SecretFileError
from penstock.model.errors import KafkaError
from penstock.model.limits import TOKEN_LIFETIME_MS_MAX
from penstock.model.text.principal_text import principal_problem
from penstock.node.security.users_file import change_users, read_users
from penstock.security.principal import Principal
from penstock.security.tokens.token import Token, digest_of, new_token_id, new_word
from penstock.security.users.credential import ScramMechanism, make_credential
from penstock.security.users.document import UsersDocument, UsersError
from penstock.security.users.name import check_user_name

UsersFileOption = Annotated[
    Path | None,
    typer.Option(
        "--users-file",
        metavar="FILE",
        help="Change the users file of a registry or an edge application, instead of a broker.",
    ),
]


class UsersInFile:
    """What the commands do with a users file. Nothing is changed unless all is well."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def users(self) -> dict[str, Credentials]:
        document = self._document()
        return {
            name: {mechanism: credential.iterations for mechanism, credential in credentials.items()}
            for name, credentials in document.users.items()
        }

    def set_password(self, name: str, password: str, credentials: Credentials) -> None:
        try:
            check_user_name(name)
        except KafkaError as error:
            raise CommandError(f"user {name}: {error.message}", ExitCode.USAGE) from error
        made = {mechanism: make_credential(mechanism, password, count) for mechanism, count in credentials.items()}
        self._change(lambda document: document.with_user(name, made))

    def remove(self, name: str, mechanisms: list[ScramMechanism]) -> None:
        """Remove mechanisms of a user; without any the user is gone, and the user's tokens."""

        def without(document: UsersDocument) -> UsersDocument:
            kept = document.users.get(name, {})
            return document.with_user(name, {each: kept[each] for each in kept if each not in mechanisms})

        self._change(without)

    def tokens(self) -> tuple[Token, ...]:
        return self._document().tokens

    def add_token(self, principal: str, name: str, lifetime_ms: int) -> tuple[Token, str]:
        problem = principal_problem(principal)
        if problem is not None:
            raise CommandError(problem, ExitCode.USAGE)
        if not 0 < lifetime_ms <= TOKEN_LIFETIME_MS_MAX:
            raise CommandError("a token holds for a year at most", ExitCode.USAGE)
        word, now_ms = new_word(), int(time.time() * 1000)
        token = Token(
            token_id=new_token_id(),
            principal=Principal.of(principal),
            name=name,
            created_ms=now_ms,
            expires_ms=now_ms + lifetime_ms,
            digest=digest_of(word.encode()),
        )

        def with_token(document: UsersDocument) -> UsersDocument:
            live = tuple(each for each in document.tokens if each.expires_ms > now_ms)
            return document.with_tokens((*live, token))

        self._change(with_token)
        return token, word

    def revoke(self, token_id: str) -> None:
        known = [token.token_id for token in self.tokens()]
        if token_id not in known:
            raise not_found("token", token_id, known, "`penstock security token list` shows all")
        self._change(lambda found: found.with_tokens(tuple(each for each in found.tokens if each.token_id != token_id)))

    def _document(self) -> UsersDocument:
        try:
            return read_users(self._path) if self._path.exists() else UsersDocument.new()
        except (OSError, SecretFileError, UsersError) as error:
            raise self._unusable(error) from error

    def _change(self, change: Callable[[UsersDocument], UsersDocument]) -> None:
        try:
            change_users(self._path, change)
        except (OSError, SecretFileError, UsersError) as error:
            raise self._unusable(error) from error

    def _unusable(self, error: Exception) -> CommandError:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        return CommandError(f"--users-file {self._path}: {reason}", ExitCode.USAGE, hint="nothing was changed")
