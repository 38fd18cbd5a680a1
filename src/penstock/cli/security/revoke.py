"""`penstock security revoke`: the list of revoked certificates of the authority that `penstock security init` has made.

The list is DIR/revoked.pem. It is written as a whole, by one command at a time, and keeps what it has: certificates are
replaced when they are renewed, and nobody could revoke the ones before a second time.
"""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from penstock.cli.security.init import Directory
from penstock.cli.security.own_authority import load_authority
from penstock.cli.security.private_file import replace_private
from penstock.cli.terminal.errors import CommandError, ExitCode
from penstock.cli.terminal.output import note

if TYPE_CHECKING:
    from cryptography import x509

    from penstock.security.tls.authority import Authority
    from penstock.security.tls.revocation_list import RevocationList

LIST: Final = "revoked.pem"


def revoke(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="Name that `penstock security certificate` was given, or the file of a certificate (PEM).",
        ),
    ] = None,
    serials: Annotated[
        list[str] | None,
        typer.Option(
            "--serial",
            metavar="HEX",
            help="Serial number of a certificate whose file is gone, as `openssl x509 -serial` shows it;"
            " may be given repeatedly.",
        ),
    ] = None,
    directory: Directory = Path("penstock-security"),
    days: Annotated[
        int | None,
        typer.Option(
            "--days",
            min=1,
            max=3650,
            help="How long the list counts; nodes refuse every client afterwards. Default: until the authority ends.",
        ),
    ] = None,
) -> None:
    """Revoke certificates: write the list of them that nodes look at (tls.crl_file), in DIR/revoked.pem.

    Certificates that are revoked stay so. Without a name the list is renewed, and made if there is none.
    """
    from penstock.security.tls.revocation_list import RevocationList

    authority, path = load_authority(directory), directory / LIST
    certificates = [_certificate(name, directory, authority) for name in names or []]
    numbers = [*(each.serial_number for each in certificates), *(_number(text, authority) for text in serials or [])]
    now = datetime.datetime.now(datetime.UTC)
    with _alone(directory):
        before = _read(path, authority) or RevocationList()
        after = before.with_revoked(numbers, now)
        try:
            content, end = after.signed(authority, now, days)
            replace_private(path, content)
        except ValueError as error:
            raise CommandError(f"{directory / 'ca.pem'}: {error}", ExitCode.USAGE) from error
        except OSError as error:
            raise CommandError(f"{error.filename or path}: {error.strerror}") from error
    for number in dict.fromkeys(numbers):
        state = "was revoked already" if number in before.entries else "is revoked"
        note(f"the certificate with the serial number {number:x} {state}")
    note(f"made {path} with {len(after.entries)} revoked; nodes take it until {end:%Y-%m-%d %H:%M} UTC")
    note(
        f"a node looks at it with tls.crl_file: {path.absolute()}; where that is set, it reads the new list by itself,"
        " without a restart"
    )
    _tell_open([each for each in certificates if each.serial_number not in before.entries])


def _tell_open(certificates: list[x509.Certificate]) -> None:
    """What a list does not do: it is asked in handshakes, and by nodes."""
    from cryptography.hazmat.primitives.serialization import Encoding

    from penstock.security.tls.distinguished_name import subject_of
    from penstock.security.tls.server_certificate import hosts_of

    for subject in dict.fromkeys(subject_of(each.public_bytes(Encoding.DER)) for each in certificates):
        principal = shlex.quote(f"User:{subject}")
        note(f"connections that are open go on; this ends them: penstock security disconnect {principal}")
    if any(hosts_of(each.public_bytes(Encoding.PEM)) for each in certificates):
        note("clients do not look at the list: give a node whose certificate is revoked another one")


def _certificate(name: str, directory: Path, authority: Authority) -> x509.Certificate:
    """The first certificate of a file, which is the holder's own; those of its authorities follow it."""
    from cryptography import x509

    path = Path(name) if "/" in name or name.endswith(".pem") else directory / f"{name}.pem"
    try:
        found = x509.load_pem_x509_certificates(path.read_bytes())[0]
    except OSError as error:
        hint = "name a file with its directory, or give the serial number of the certificate with --serial"
        raise CommandError(f"{path}: {error.strerror}", ExitCode.NOT_FOUND, hint=hint) from error
    except ValueError as error:
        raise CommandError(f"{path} has no certificate in PEM", ExitCode.USAGE) from error
    if not authority.has_issued(found):
        raise CommandError(
            f"{path} is not a certificate of the authority in {directory}, and nothing was changed",
            ExitCode.USAGE,
            hint="the authority that has issued it can revoke it; another one of your own is named with --directory",
        )
    return found


def _number(text: str, authority: Authority) -> int:
    """A serial number in hexadecimal digits. A decimal one of the authority's would have too many of them."""
    from penstock.security.tls.revocation_list import SERIAL_BITS_MAX

    try:
        number = int(text.removeprefix("serial=").replace(":", ""), 16)
    except ValueError:
        number = 0
    if not 0 < number < 1 << SERIAL_BITS_MAX or number == authority.serial_number:
        raise CommandError(
            f"{text!r} is no serial number of a certificate, and nothing was changed",
            ExitCode.USAGE,
            hint="give it in hexadecimal digits, as `openssl x509 -noout -serial -in FILE` shows it",
        )
    return number


@contextlib.contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """While no other command writes the list: each keeps what the other has added."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read(path: Path, authority: Authority) -> RevocationList | None:
    """The list that is there; None without one. What is no list of the authority is not replaced."""
    from penstock.security.tls.revocation_list import RevocationList

    try:
        return RevocationList.parse(path.read_bytes(), authority)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise CommandError(
            f"{path} cannot be added to ({error}), and nothing was changed",
            ExitCode.USAGE,
            hint="move it away, and put lists of several authorities together into a file of another name",
        ) from error
