"""The options kafka.security.protocol, kafka.sasl.… and kafka.ssl.…, as Spark's own connector has them.

Spark shows options in plans and event logs. It hides those whose name or value looks like a password to it, which
`kafka.ssl.keystore.key` does not; and over Spark Connect it hides none. So secrets may also be named instead of given:

    kafka.sasl.password = file:/etc/app/password     the content of a file that nobody else can read
    kafka.sasl.password = env:APP_PASSWORD           a variable of the driver
    commandConfig       = /etc/app/client.properties a file with all of these properties, without `kafka.`

Files and variables are those of the driver. Tasks get the values with their code, never as options.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from pathlib import Path

from penstock.client.security.properties import NAMES, SECRETS, ClientSecurity, SecurityProblem
from penstock.client.security.property_file import parse_properties
from penstock.config.secret_file import SecretFileError, read_secret_file
from penstock_spark.errors import BadOption

KAFKA = "kafka."
COMMAND_CONFIG = "commandConfig"
SECURITY_OPTIONS = frozenset((COMMAND_CONFIG.lower(), *(f"{KAFKA}{name}" for name in NAMES)))
FILE, ENVIRONMENT = "file:", "env:"
_SHOWN = ("ssl.keystore.key", "ssl.key.pem")
"""Secrets that Spark does not know for what they are."""

logger = logging.getLogger(__name__)


def parse_security(options: Mapping[str, str]) -> ClientSecurity:
    """The security of a client by options with names in lower case. Other options may be among them."""
    given = {
        name.removeprefix(KAFKA): _revealed(name, value)
        for name, value in options.items()
        if name.startswith(KAFKA) and name in SECURITY_OPTIONS
    }
    for name in _SHOWN:
        if "-----BEGIN PRIVATE KEY" in options.get(f"{KAFKA}{name}", ""):
            logger.warning("Spark may show %s%s in plans and event logs: file:PATH keeps the key out", KAFKA, name)
    from_file = _of_file(options.get(COMMAND_CONFIG.lower(), ""))
    try:
        return ClientSecurity.of({**from_file, **given})
    except SecurityProblem as problem:
        raise BadOption(f"kafka.{problem}") from None


def _of_file(named: str) -> dict[str, str]:
    """The properties of a file that are about security; it may have others, for other clients."""
    if not named:
        return {}
    path = Path(named).expanduser()
    try:
        found = parse_properties(path.read_text())
    except OSError as error:
        raise BadOption(f"{COMMAND_CONFIG} {path} cannot be read on the driver: {error.strerror}") from None
    except (SecurityProblem, UnicodeDecodeError) as error:
        what = error if isinstance(error, SecurityProblem) else "it is not text"
        raise BadOption(f"{COMMAND_CONFIG} {path}: {what}") from None
    return {name: value for name, value in found.items() if name in NAMES}


def _revealed(name: str, value: str) -> str:
    if name.removeprefix(KAFKA) not in SECRETS:
        return value
    if value.startswith(FILE):
        try:
            return read_secret_file(Path(value.removeprefix(FILE)).expanduser())
        except SecretFileError as error:
            raise BadOption(f"{name}: {error}") from None
    if value.startswith(ENVIRONMENT):
        variable = value.removeprefix(ENVIRONMENT)
        if variable not in os.environ:
            raise BadOption(f"{name}: the environment variable {variable} is not set for the driver")
        return os.environ[variable]
    return value
