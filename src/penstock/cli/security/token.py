"""`penstock security token`: words that programs show at HTTP ports instead of a password.

Over the admin API, or in a users file.
"""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer

from penstock.cli.kafka.command_config import CommandConfig
from penstock.cli.kafka.topic import ChangeOutput, OutputOption
from penstock.cli.security.admin_http import DEFAULT_URL, AdminApi, NodeUrl
from penstock.cli.security.users_files import UsersFileOption, UsersInFile
from penstock.cli.terminal.errors import CommandError, ExitCode
from penstock.cli.terminal.output import Output, note, print_json, print_table
from penstock.security.tokens.token import PREFIX, Token

app = typer.Typer(no_args_is_help=True, help="Manage tokens, with which programs log in over HTTP.")

DAY_MS = 86_400_000
DAYS = 90
"""For which a token in a users file holds, as with the default of `security.token_lifetime_ms`."""


@app.command()
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the token is for.")],
    principal: Annotated[
        str | None,
        typer.Option("--principal", metavar="User:NAME", help="For whom; default: the user that you log in as."),
    ] = None,
    days: Annotated[
        int | None, typer.Option("--days", min=1, max=366, help="Days for which it holds; default: the node's setting.")
    ] = None,
    users_file: UsersFileOption = None,
    output: ChangeOutput = Output.TABLE,
    url: NodeUrl = DEFAULT_URL,
    command_config: CommandConfig = None,
) -> None:
    """Make a token and print its word, which is shown this once. Send it as `Authorization: Bearer WORD`."""
    if users_file is not None:
        made = _made_in_file(users_file, name, principal, days or DAYS)
    else:
        body: dict[str, object] = {"name": name}
        if principal is not None:
            body["principal"] = principal
        if days is not None:
            body["lifetime_ms"] = days * DAY_MS
        made = AdminApi(url, command_config).ask("POST", "/security/tokens", body)
    if output is Output.JSON:
        print_json(made)
        return
    note(f"token {made['id']} of {made['principal']}, until {_day(made['expires'])}; this is its word, keep it safe:")
    typer.echo(made["token"])


@app.command("list")
def list_tokens(
    users_file: UsersFileOption = None,
    output: OutputOption = Output.TABLE,
    url: NodeUrl = DEFAULT_URL,
    command_config: CommandConfig = None,
) -> None:
    """List your tokens; all of them, if you may describe the cluster."""
    if users_file is not None:
        found = [_shown(token) for token in UsersInFile(users_file).tokens()]
    else:
        found = AdminApi(url, command_config).all_of("/security/tokens", "tokens")
    if output is Output.JSON:
        print_json(found)
    elif found:
        rows = [
            (each["id"], each["principal"], each["name"], _day(each["created"]), _day(each["expires"]))
            for each in found
        ]
        print_table(["id", "principal", "name", "created", "expires"], rows)
    else:
        note("no tokens yet; make one with `penstock security token create NAME`")


@app.command()
def revoke(
    token: Annotated[str, typer.Argument(metavar="ID", help="Id of the token, as `list` shows it; not its word.")],
    users_file: UsersFileOption = None,
    output: ChangeOutput = Output.TABLE,
    url: NodeUrl = DEFAULT_URL,
    command_config: CommandConfig = None,
) -> None:
    """Revoke a token: the next request with it is refused."""
    if token.startswith(PREFIX):  # a URL is no place for a secret
        hint = "`penstock security token list` shows the ids"
        raise CommandError("that is the word of a token, not its id", ExitCode.USAGE, hint=hint)
    if users_file is not None:
        UsersInFile(users_file).revoke(token)
    else:
        AdminApi(url, command_config).ask("DELETE", f"/security/tokens/{quote(token, safe='')}")
    if output is Output.JSON:
        print_json({"revoked": token})
    else:
        note(f"token {token} revoked")


def _made_in_file(path: Path, name: str, principal: str | None, days: int) -> dict[str, Any]:
    if principal is None:
        raise CommandError("a users file does not know who you are", ExitCode.USAGE, hint="name --principal User:NAME")
    token, word = UsersInFile(path).add_token(principal, name, days * DAY_MS)
    return {**_shown(token), "token": word}


def _shown(token: Token) -> dict[str, Any]:
    return {
        "id": token.token_id,
        "principal": str(token.principal),
        "name": token.name,
        "created": token.created_ms,
        "expires": token.expires_ms,
    }


def _day(milliseconds: int) -> str:
    return datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.UTC).date().isoformat()
