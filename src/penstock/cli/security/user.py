"""`penstock security user`: make, list and remove users, and change their passwords.

Over the Kafka API of any broker, or in the data directory of a node that is stopped: so the first user is made. A
registry and an edge application have theirs in a users file.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.kafka.client import DEFAULT_SERVER, BootstrapServer, ClientProperties, connect
from penstock.cli.kafka.topic import ChangeOutput, OutputOption
from penstock.cli.security.password import PasswordFile, read_password
from penstock.cli.security.user_requests import Credentials, UserRequests
from penstock.cli.security.users_files import UsersFileOption, UsersInFile
from penstock.cli.terminal.errors import CommandError, ExitCode, not_found
from penstock.cli.terminal.output import Output, note, print_json, print_table
from penstock.model.limits import SCRAM_ITERATIONS_MAX, SCRAM_ITERATIONS_MIN
from penstock.security.users.credential import ScramMechanism

app = typer.Typer(no_args_is_help=True, help="Manage users, who log in with SCRAM or PLAIN.")

ITERATIONS = 8_192
"""The default of `sasl.scram_iterations`, which a command that talks to another machine cannot know."""
SEE_USERS = "`penstock security user list` shows all"

UserName = Annotated[str, typer.Argument(metavar="NAME", help="Name of the user, without `User:`.")]
Mechanisms = Annotated[
    list[str] | None,
    typer.Option("--mechanism", "-m", metavar="NAME", help="SCRAM-SHA-256 or SCRAM-SHA-512; default: both."),
]
Iterations = Annotated[
    int,
    typer.Option("--iterations", min=SCRAM_ITERATIONS_MIN, max=SCRAM_ITERATIONS_MAX, help="More make guessing slower."),
]
DataDirectory = Annotated[
    Path | None,
    typer.Option("--data-dir", metavar="DIR", help="Change the data of a node that is stopped, instead of a broker."),
]


@app.command()
def add(
    name: UserName,
    password_file: PasswordFile = None,
    mechanisms: Mechanisms = None,
    iterations: Iterations = ITERATIONS,
    data_dir: DataDirectory = None,
    users_file: UsersFileOption = None,
    output: ChangeOutput = Output.TABLE,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    properties: ClientProperties = None,
) -> None:
    """Make a user with a password, which is asked for, or read from a file or from standard input."""
    _set(
        name,
        password_file,
        dict.fromkeys(_mechanisms(mechanisms) or ScramMechanism, iterations),
        _Place(data_dir, users_file, bootstrap_server, properties),
        is_new=True,
        output=output,
    )


@app.command()
def password(
    name: UserName,
    password_file: PasswordFile = None,
    iterations: Iterations = ITERATIONS,
    data_dir: DataDirectory = None,
    users_file: UsersFileOption = None,
    output: ChangeOutput = Output.TABLE,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    properties: ClientProperties = None,
) -> None:
    """Change the password of a user, for every mechanism that the user has. Connections that are open stay so."""
    place = _Place(data_dir, users_file, bootstrap_server, properties)
    _set(name, password_file, dict.fromkeys(ScramMechanism, iterations), place, is_new=False, output=output)


@app.command("list")
def list_users(
    data_dir: DataDirectory = None,
    users_file: UsersFileOption = None,
    output: OutputOption = Output.TABLE,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    properties: ClientProperties = None,
) -> None:
    """List all users and the mechanisms by which they can log in."""
    found = _Place(data_dir, users_file, bootstrap_server, properties).users()
    if output is Output.JSON:
        print_json([{"user": name, "mechanisms": _shown(credentials)} for name, credentials in found.items()])
    elif found:
        rows = [(name, mechanism, count) for name, each in found.items() for mechanism, count in _shown(each).items()]
        print_table(["user", "mechanism", "iterations"], rows, numbers=["iterations"])
    else:
        note("no users yet; make one with `penstock security user add NAME`")


@app.command()
def remove(
    name: UserName,
    mechanisms: Mechanisms = None,
    yes: Annotated[
        bool,
        typer.Option("--yes", "-y", help="Do not ask for confirmation. Scripts, without a terminal, are never asked."),
    ] = False,
    users_file: UsersFileOption = None,
    output: ChangeOutput = Output.TABLE,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    properties: ClientProperties = None,
) -> None:
    """Remove a user, or some of its mechanisms. Connections that are open stay so, until they have to log in again."""
    place = _Place(None, users_file, bootstrap_server, properties)
    known = _known(place.users(), name)
    removed = [each for each in _mechanisms(mechanisms) or known if each in known]
    if not removed:
        raise CommandError(f"user {name} has no such mechanism", ExitCode.NOT_FOUND, hint=SEE_USERS)
    gone = " and ".join(each.title for each in removed)
    left = " and ".join(each.title for each in known if each not in removed)
    if not yes and sys.stdin.isatty():
        typer.confirm(f"Remove {gone} of the user {name}?" if left else f"Remove the user {name}?", abort=True)
    place.remove(name, removed)
    text = f"{gone} of user {name} removed; {name} can still log in with {left}" if left else f"user {name} removed"
    _report({"user": name, "removed": [each.title for each in removed]}, text, output)


class _Place:
    """Where the users are: a broker, the data directory of a node that is stopped, or a users file."""

    def __init__(
        self, data_dir: Path | None, users_file: Path | None, bootstrap: str, properties: list[str] | None
    ) -> None:
        self._data_dir = data_dir
        self._broker: UserRequests | None = None
        self._file: UsersInFile | None = None
        if data_dir is not None and users_file is not None:
            raise CommandError("--data-dir and --users-file are two places; give one of them", ExitCode.USAGE)
        if users_file is not None:
            self._file = UsersInFile(users_file)
        elif data_dir is None:
            self._broker = UserRequests(connect(bootstrap, properties))

    def users(self) -> dict[str, Credentials]:
        if self._broker is not None:
            return self._broker.all()
        if self._file is not None:
            return self._file.users()
        from penstock.cli.security.offline_users import stored_users

        assert self._data_dir is not None
        return stored_users(self._data_dir)

    def set(self, name: str, secret: str, credentials: Credentials) -> None:
        if self._broker is not None:
            self._broker.set_password(name, secret, credentials)
            return
        if self._file is not None:
            self._file.set_password(name, secret, credentials)
            return
        from penstock.cli.security.offline_users import store_user

        assert self._data_dir is not None
        store_user(self._data_dir, name, secret, credentials)

    def remove(self, name: str, mechanisms: list[ScramMechanism]) -> None:
        if self._file is not None:
            self._file.remove(name, mechanisms)
            return
        assert self._broker is not None
        self._broker.remove(name, mechanisms)


def _set(
    name: str, file: Path | None, credentials: Credentials, place: _Place, *, is_new: bool, output: Output
) -> None:
    users = place.users()
    if is_new and name in users:
        hint = f"change its password with `penstock security user password {name}`"
        raise CommandError(f"user {name} exists", ExitCode.USAGE, hint=hint)
    if not is_new:
        known = _known(users, name)
        credentials = {mechanism: count for mechanism, count in credentials.items() if mechanism in known}
    place.set(name, read_password(file, name), credentials)
    act = "made" if is_new else "changed"
    text = f"user {name} made" if is_new else f"password of {name} changed"
    _report({"user": name, act: [each.title for each in credentials]}, text, output)


def _known(users: dict[str, Credentials], name: str) -> Credentials:
    if name not in users:
        raise not_found("user", name, users, SEE_USERS)
    return users[name]


def _mechanisms(names: list[str] | None) -> list[ScramMechanism]:
    known = {mechanism.title: mechanism for mechanism in ScramMechanism}
    for name in names or ():
        if name not in known:
            hint = f"there are {' and '.join(known)}; PLAIN checks passwords against these"
            raise CommandError(f"--mechanism {name} is unknown", ExitCode.USAGE, hint=hint)
    return [known[name] for name in dict.fromkeys(names or ())]


def _shown(credentials: Credentials) -> dict[str, int]:
    return {mechanism.title: iterations for mechanism, iterations in credentials.items()}


def _report(result: dict[str, object], text: str, output: Output) -> None:
    if output is Output.JSON:
        print_json(result)
    else:
        note(text)
