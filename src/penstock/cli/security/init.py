"""`penstock security init`: from nothing to the settings of a secured node.

    DIR/ca.pem, ca.key            the authority; the key is needed only to issue certificates, and may be kept elsewhere
    DIR/server.pem, server.key    the node's certificate
    DIR/penstock.yml              settings: TLS and logins at every door, rights for the administrator only
    DIR/client.properties         what clients need, for `--command-config` and Kafka's own tools; without the password

The administrator is made in the node's data directory, so that the first start knows it already.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shlex
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final

import typer

from penstock.cli.security.first_settings import FirstSettings
from penstock.cli.security.hosts import LOCAL_HOSTS, check_hosts
from penstock.cli.security.private_file import write_private
from penstock.cli.terminal.errors import CommandError, ExitCode
from penstock.cli.terminal.output import note, write_text

PASSWORD_BYTES: Final = 18
FILES: Final = ("ca.pem", "ca.key", "server.pem", "server.key", "penstock.yml", "client.properties")

Directory = Annotated[
    Path, typer.Option("--directory", "-d", metavar="DIR", help="Directory for certificates and settings.")
]


def init(
    directory: Directory = Path("penstock-security"),
    data_dir: Annotated[Path, typer.Option("--data-dir", metavar="DIR", help="The node's data directory.")] = Path(
        "data"
    ),
    listen: Annotated[str, typer.Option("--listen", metavar="ADDR", help="Address of all doors.")] = "0.0.0.0",
    hosts: Annotated[
        list[str] | None,
        typer.Option(
            "--host", metavar="NAME", help="Name or address by which clients reach the node; may be given repeatedly."
        ),
    ] = None,
    admin: Annotated[str, typer.Option("--admin", metavar="NAME", help="Name of the administrator.")] = "admin",
) -> None:
    """Make an authority, a certificate, an administrator and the settings of a secured node.

    The password of the administrator is shown once, and stored nowhere but as SCRAM credentials. Files that exist are
    not replaced.
    """
    from penstock.cli.security.offline_users import store_user
    from penstock.security.tls.authority import Authority
    from penstock.security.users.credential import ScramMechanism

    check_hosts([listen, *(hosts or [])])
    _check_free(directory)
    settings = FirstSettings(
        directory=directory.absolute(),
        data_dir=data_dir.absolute(),
        listen=listen,
        advertised=_advertised(listen, hosts or []),
        names=_names(listen, hosts or []),
        admin=admin,
    )
    password = secrets.token_urlsafe(PASSWORD_BYTES)
    authority = Authority.create(f"penstock on {socket.gethostname()}")
    server = authority.issue_server(settings.names)
    contents = (
        authority.pair.certificate,
        authority.pair.key,
        server.certificate,
        server.key,
        settings.of_node(),
        settings.of_clients(),
    )
    with _made(directory, dict(zip(FILES, contents, strict=True))):
        settings.check(directory / "penstock.yml")
        # Last, so that there is no administrator whose password was never shown.
        is_known = store_user(data_dir, admin, password, dict.fromkeys(ScramMechanism, 8_192))
    note(
        f"made {directory} with an authority, a certificate for {', '.join(settings.names)}, settings and"
        " client.properties"
    )
    if is_known:
        note(f"{data_dir} had the user {admin} already, whose old password no longer holds")
    note(f"the administrator is {admin}; its {'new ' if is_known else ''}password is shown this once:")
    write_text(password)
    _tell_next(directory, settings)


def _tell_next(directory: Path, settings: FirstSettings) -> None:
    """The commands with which it goes on."""
    from penstock.net.endpoint import bracketed

    advertised, properties = settings.advertised, shlex.quote(str(directory / "client.properties"))
    note(f"start the node: penstock serve --config {shlex.quote(str(directory / 'penstock.yml'))}")
    if advertised is not None:
        note(f"clients on all machines reach it as {advertised} (kafka.advertised), which has to be known there")
    note(
        f"then, with the password in {properties}: penstock topic list --bootstrap-server"
        f" {bracketed(advertised or settings.names[0])}:9092 --command-config {properties}"
    )


def _check_free(directory: Path) -> None:
    there = [name for name in FILES if os.path.lexists(directory / name)]  # also a link that leads nowhere
    if there:
        raise CommandError(
            f"{directory} has {', '.join(there)} already, and nothing was changed",
            ExitCode.USAGE,
            hint="choose another with --directory, or remove the files; `penstock security certificate` renews",
        )


@contextlib.contextmanager
def _made(directory: Path, files: dict[str, bytes]) -> Iterator[None]:
    """Files in a directory that nobody else can write; if what follows fails, what was made is removed again."""
    made: list[Path] = []
    absent = [each for each in (directory, *directory.parents) if not os.path.lexists(each)]
    try:
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            _check_private(directory)
            for name, content in files.items():
                path = directory / name
                write_private(path, content)
                made.append(path)
        except OSError as error:
            text = f"{error.filename or directory}: {error.strerror}, and nothing was changed"
            raise CommandError(text, ExitCode.USAGE, hint="choose another with --directory") from error
        yield
    except BaseException:
        for path in made:
            path.unlink(missing_ok=True)
        for path in absent:
            with contextlib.suppress(OSError):  # it was never made, or others have put something into it meanwhile
                path.rmdir()
        raise


def _check_private(directory: Path) -> None:
    """Whoever can write a directory can put other keys and settings in it."""
    mode = stat.S_IMODE(directory.stat().st_mode)
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise CommandError(
            f"other users of this machine can write {directory} (its mode is {mode:04o}), and nothing was changed",
            ExitCode.USAGE,
            hint=f"run: chmod 700 {shlex.quote(str(directory.absolute()))}, or choose another with --directory",
        )


def _names(listen: str, given: list[str]) -> list[str]:
    """The names in the certificate: those given, or else the machine's; and those of the machine itself."""
    from penstock.net.endpoint import is_every_address

    own = [] if is_every_address(listen) else [listen]
    return list(dict.fromkeys([*given, *own, *([] if given else [socket.gethostname()]), *LOCAL_HOSTS]))


def _advertised(listen: str, given: list[str]) -> str | None:
    """The name that clients are given, since they would refuse an address that the certificate does not name.

    The first one given that is no pattern, or else that of the machine; None where the address on which clients come
    in is in the certificate anyway.
    """
    from penstock.net.endpoint import is_every_address

    if given:
        return next((name for name in given if "*" not in name), None)
    return socket.gethostname() if is_every_address(listen) else None
