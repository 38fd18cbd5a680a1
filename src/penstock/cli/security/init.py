"""`penstock security init`: from nothing to the settings of a secured node, and `penstock security certificate`.

    DIR/ca.pem, ca.key            the authority; the key is needed only to issue certificates, and may be kept elsewhere
    DIR/server.pem, server.key    the node's certificate
    DIR/penstock.yml              settings: TLS and logins at every door, rights for the administrator only
    DIR/client.properties         what clients need, for `--command-config` and Kafka's own tools; without the password

The administrator is made in the node's data directory, so that the first start knows it already.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shlex
import socket
import stat
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Final

import typer

from penstock.cli.terminal.errors import CommandError, ExitCode
from penstock.cli.terminal.output import note, write_text

PASSWORD_BYTES: Final = 18
HOST: Final = re.compile(r"(\*\.)?[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?")
"""Also a pattern, which a certificate may have in the place of a name."""
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
    from penstock.net.endpoint import bracketed
    from penstock.security.tls.authority import Authority
    from penstock.security.users.credential import ScramMechanism

    _check_hosts([listen, *(hosts or [])])
    _check_free(directory)
    advertised = _advertised(listen, hosts or [])
    names = _names(listen, hosts or [])
    password = secrets.token_urlsafe(PASSWORD_BYTES)
    authority = Authority.create(f"penstock on {socket.gethostname()}")
    server, here = authority.issue_server(names), directory.absolute()
    contents = (
        authority.pair.certificate,
        authority.pair.key,
        server.certificate,
        server.key,
        _settings(here, data_dir.absolute(), listen, advertised, names, admin).encode(),
        _client(here, admin).encode(),
    )
    with _made(directory, dict(zip(FILES, contents, strict=True))):
        # Last, so that there is no administrator whose password was never shown.
        is_known = store_user(data_dir, admin, password, dict.fromkeys(ScramMechanism, 8_192))
    note(f"made {directory} with an authority, a certificate for {', '.join(names)}, settings and client.properties")
    if is_known:
        note(f"{data_dir} had the user {admin} already, whose old password no longer holds")
    note(f"the administrator is {admin}; its {'new ' if is_known else ''}password is shown this once:")
    write_text(password)
    note(f"start the node: penstock serve --config {directory / 'penstock.yml'}")
    if advertised is not None:
        note(f"clients on all machines reach it as {advertised} (kafka.advertised), which has to be known there")
    note(
        f"then, with the password in {directory / 'client.properties'}: penstock topic list --bootstrap-server"
        f" {bracketed(advertised or names[0])}:9092 --command-config {directory / 'client.properties'}"
    )


def certificate(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the client, or of the files for a node.")],
    directory: Directory = Path("penstock-security"),
    hosts: Annotated[
        list[str] | None,
        typer.Option("--host", metavar="NAME", help="For a node: a name or address by which clients reach it."),
    ] = None,
    days: Annotated[int, typer.Option("--days", min=1, max=3650, help="How long it lasts.")] = 825,
) -> None:
    """Issue a certificate of the authority that `penstock security init` made: for a client, or with --host for a node.

    An existing one of that name is replaced, which renews it: a running node takes it by itself.
    """
    from penstock.security.tls.authority import Authority, KeyPair

    if "/" in name or name in ("", ".", "..", "ca"):
        raise CommandError(f"{name!r} is no name for a certificate", ExitCode.USAGE)
    _check_hosts(hosts or [])
    try:
        authority = Authority.load(KeyPair((directory / "ca.pem").read_bytes(), (directory / "ca.key").read_bytes()))
    except OSError as error:
        hint = "make an authority with `penstock security init`, or name its directory with --directory"
        raise CommandError(f"{error.filename}: {error.strerror}", ExitCode.NOT_FOUND, hint=hint) from error
    except ValueError as error:
        raise CommandError(f"{directory / 'ca.pem'}: {error}", ExitCode.USAGE) from error
    pair = authority.issue_server(hosts, days) if hosts else authority.issue_client(name, days)
    # The key first: a node that looks between the two finds a pair that does not fit, and looks again.
    _replace(directory / f"{name}.key", pair.key)
    _replace(directory / f"{name}.pem", pair.certificate)
    note(f"made {directory / f'{name}.pem'} and {directory / f'{name}.key'}, for {days} days")


def _check_hosts(hosts: list[str]) -> None:
    """Names stand in the certificate and in the settings: one that is none would make both useless."""
    for host in hosts:
        try:
            ip_address(host)
        except ValueError:
            parts = host.split(".")
            looks_like_address = len(parts) == 4 and all(part.isdecimal() for part in parts)  # as 999.1.1.1 does
            if len(host) > 253 or HOST.fullmatch(host) is None or looks_like_address:
                hint = "give a name or an IP address alone, without a scheme or a port"
                raise CommandError(f"{host!r} is no host", ExitCode.USAGE, hint=hint) from None


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
                _write(path, content)
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
    return list(
        dict.fromkeys([*given, *own, *([] if given else [socket.gethostname()]), "localhost", "127.0.0.1", "::1"])
    )


def _advertised(listen: str, given: list[str]) -> str | None:
    """The name that clients are given, since they would refuse an address that the certificate does not name.

    The first one given that is no pattern, or else that of the machine; None where the address on which clients come
    in is in the certificate anyway.
    """
    from penstock.net.endpoint import is_every_address

    if given:
        return next((name for name in given if "*" not in name), None)
    return socket.gethostname() if is_every_address(listen) else None


def _settings(
    directory: Path, data_dir: Path, listen: str, advertised: str | None, names: list[str], admin: str
) -> str:
    from penstock.net.endpoint import bracketed
    from penstock.net.http.allowed_hosts import is_always_allowed

    allowed = [name for name in names if "*" not in name and not is_always_allowed(name)]
    kafka = f'host: "{listen}"' + (f'\n  advertised: "{bracketed(advertised)}"' if advertised else "")
    return f"""# A secured node: TLS and logins at every door, and rights by rules (docs/security.md).
node:
  data_dir: {data_dir}
kafka:
  {kafka}
http:
  host: "{listen}"
  allowed_hosts: {allowed}
security:
  protocol: SASL_SSL
tls:
  certificate_file: {directory / "server.pem"}
  key_file: {directory / "server.key"}
  client_ca_file: {directory / "ca.pem"}
acl:
  enabled: true
  super_users: ["User:{admin}"]
"""


def _client(directory: Path, admin: str) -> str:
    return f"""# For --command-config, librdkafka and, with Java's names, Kafka's own tools.
security.protocol=SASL_SSL
sasl.mechanism=SCRAM-SHA-512
sasl.username={admin}
# sasl.password=
ssl.ca.location={directory / "ca.pem"}
"""


def _write(path: Path, content: bytes) -> None:
    """Make a file for its user only, whatever the umask."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        try:
            file.write(content)
            file.flush()
        except OSError:
            path.unlink(missing_ok=True)
            raise


def _replace(path: Path, content: bytes) -> None:
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)
    _write(new, content)
    new.replace(path)
