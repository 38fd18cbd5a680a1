"""The authority that `penstock security init` has made, for commands that sign with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from penstock.cli.terminal.errors import CommandError, ExitCode

if TYPE_CHECKING:
    from penstock.security.tls.authority import Authority


def load_authority(directory: Path) -> Authority:
    from penstock.security.tls.authority import Authority, KeyPair

    try:
        return Authority.load(KeyPair((directory / "ca.pem").read_bytes(), (directory / "ca.key").read_bytes()))
    except OSError as error:
        hint = "make an authority with `penstock security init`, or name its directory with --directory"
        raise CommandError(f"{error.filename}: {error.strerror}", ExitCode.NOT_FOUND, hint=hint) from error
    except ValueError as error:
        raise CommandError(f"{directory / 'ca.pem'}: {error}", ExitCode.USAGE) from error
