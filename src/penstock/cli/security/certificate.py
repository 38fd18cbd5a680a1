"""`penstock security certificate`: certificates of the authority that `penstock security init` has made.

That of a node is renewed for the names that it has, and never becomes one of a client: a running node takes it, and
clients would refuse it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from penstock.cli.security.hosts import LOCAL_HOSTS, check_hosts
from penstock.cli.security.init import Directory
from penstock.cli.security.own_authority import load_authority
from penstock.cli.security.private_file import replace_private
from penstock.cli.terminal.errors import CommandError, ExitCode
from penstock.cli.terminal.output import note

NODE: Final = "server"
"""The name of the node's files, which penstock.yml has."""
RESERVED: Final = frozenset({"", ".", "..", "ca", "revoked"})
"""No names of files, or those of the authority's certificate and of its list of revoked ones."""
NAME_HOSTS: Final = "give the names and addresses of the node with --host"


def certificate(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of the client, or of the files of a node, such as server.")
    ],
    directory: Directory = Path("penstock-security"),
    hosts: Annotated[
        list[str] | None,
        typer.Option(
            "--host",
            metavar="NAME",
            help="For a node: a name or address by which clients reach it, besides those of the machine itself;"
            " may be given repeatedly. Default: those of the certificate that is replaced.",
        ),
    ] = None,
    days: Annotated[int, typer.Option("--days", min=1, max=3650, help="How long it lasts.")] = 825,
) -> None:
    """Issue a certificate of the authority that `penstock security init` made: for a client, or with --host for a node.

    An existing one of that name is replaced, which renews it: a running node takes it by itself. That of a node is
    renewed for the names that it has, unless others are given.
    """
    _check_name(name)
    check_hosts(hosts or [])
    authority, path = load_authority(directory), directory / f"{name}.pem"
    before = _hosts_before(path, is_needed=not hosts)
    names = list(dict.fromkeys([*hosts, *LOCAL_HOSTS])) if hosts else before
    if name == NODE and not names:
        raise CommandError(f"{path} is for a node, and there is none to renew", ExitCode.USAGE, hint=NAME_HOSTS)
    pair = authority.issue_server(names, days) if names else authority.issue_client(name, days)
    try:
        # The key first: a node that looks between the two finds a pair that does not fit, and looks again.
        replace_private(directory / f"{name}.key", pair.key)
        replace_private(path, pair.certificate)
    except OSError as error:
        raise CommandError(f"{error.filename}: {error.strerror}") from error
    whom = f" for {', '.join(names)}" if names else ""
    number = _serial_number(pair.certificate)
    note(f"made {path} and {directory / f'{name}.key'}{whom}, for {days} days; its serial number is {number:x}")
    _tell_lost([host for host in before if host not in names])
    if not names:
        _tell_client(pair.certificate)


def _serial_number(certificate: bytes) -> int:
    from cryptography import x509

    return x509.load_pem_x509_certificate(certificate).serial_number


def _tell_lost(hosts: list[str]) -> None:
    if hosts:
        note(f"no longer in the certificate: {', '.join(hosts)}; clients that use these names refuse the node")


def _tell_client(certificate: bytes) -> None:
    import ssl

    from penstock.security.tls.distinguished_name import subject_of

    subject = subject_of(ssl.PEM_cert_to_DER_cert(certificate.decode()))
    note(
        f"over HTTP, and at listeners of SSL, it is a login as User:{subject} once the settings of the node have"
        " tls.client_auth: requested (or required)"
    )


def _check_name(name: str) -> None:
    """The name is that of files, and of a principal, which a cut or another line would make another one's."""
    from penstock.security.tls.authority import NAME_BYTES_MAX

    if "/" in name or name in RESERVED or not name.isprintable():
        raise CommandError(f"{name!r} is no name for a certificate", ExitCode.USAGE)
    if len(name.encode()) > NAME_BYTES_MAX:
        problem = f"{name!r} is too long for a certificate, which names {NAME_BYTES_MAX} bytes at the most"
        raise CommandError(problem, ExitCode.USAGE)


def _hosts_before(path: Path, *, is_needed: bool) -> list[str]:
    """The names in the certificate of a node that is there; none if there is no file, or one of a client."""
    from penstock.security.tls.server_certificate import ServerCertificate, hosts_of

    problem = "is for servers, and names none"
    try:
        pem = path.read_bytes()
        found = hosts_of(pem)
        if found or not ServerCertificate.parse(pem).is_for_servers:
            return found
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        problem = f"cannot be read ({error})"
    if is_needed:
        text = f"{path} {problem}, so that it cannot be renewed"
        raise CommandError(text, ExitCode.USAGE, hint=f"{NAME_HOSTS}, or remove the file if it is a client's")
    return []
