"""Users in the data directory of a node that is stopped."""

from __future__ import annotations

from pathlib import Path

from penstock.cli.security.user_requests import Credentials
from penstock.cli.terminal.errors import CommandError, ExitCode
from penstock.cluster.users import add_user
from penstock.model.errors import KafkaError
from penstock.node.security.offline import offline_metadata
from penstock.security.users.credential import ScramMechanism
from penstock.storage.data_directory import DataDirectoryError


def stored_users(data_dir: Path) -> dict[str, Credentials]:
    found: dict[str, Credentials] = {}
    try:
        with offline_metadata(data_dir) as store:
            for row in store.users.all():
                found.setdefault(row.user, {})[ScramMechanism(row.mechanism)] = row.iterations
    except DataDirectoryError as error:
        raise _unusable(error) from error
    return found


def store_user(data_dir: Path, name: str, password: str, credentials: Credentials) -> bool:
    """Make a user, or give one another password; whether the user existed."""
    try:
        with offline_metadata(data_dir) as store:
            is_known = any(row.user == name for row in store.users.all())
            add_user(store, name, password, credentials, max(credentials.values()))
    except DataDirectoryError as error:
        raise _unusable(error) from error
    except KafkaError as error:
        raise CommandError(f"user {name}: {error.message}", ExitCode.USAGE) from error
    return is_known


def _unusable(error: DataDirectoryError) -> CommandError:
    return CommandError(str(error), hint="a node that runs is asked without --data-dir")
