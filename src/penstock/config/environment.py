"""Settings in the environment, as `GivenValue` values.

    PENSTOCK_…      PENSTOCK_KAFKA__PORT=9092: section and name, two underscores between them
    reference names NODE_ID, DATA_DIR, BROKER_PORT, HTTP_PORT, REGISTRY_URL, and the QB_ ones (`references`)

Nothing here knows types or bounds; unknown names are reported with the nearest known one.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping

from penstock.config import references
from penstock.config.given_value import GivenValue, Problems
from penstock.config.settings import keys

PREFIX = "PENSTOCK_"
# Read by the loader, by the client commands, by this project's tests and by `runtime.pauses`.
NOT_SETTINGS = frozenset(
    {
        "PENSTOCK_CONFIG",
        "PENSTOCK_BOOTSTRAP_SERVER",
        "PENSTOCK_COMMAND_CONFIG",
        "PENSTOCK_KAFKA_JARS",
        "PENSTOCK_PAUSE_AT",
        "PENSTOCK_URL",
    }
)
TEST_PREFIX = "PENSTOCK_TEST_"
# Variables that Kubernetes sets in every container for a service whose name begins with penstock.
_SERVICE_VARIABLE = re.compile(
    r"PENSTOCK_(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)"
)
_SERVICE_ADDRESS = re.compile(r"(tcp|udp|sctp)://")


def from_environment(environ: Mapping[str, str], problems: Problems) -> Iterator[GivenValue]:
    """PENSTOCK_SECTION__NAME. An empty variable counts as not set."""
    variables = {variable_name(key): key for key in keys()}
    for name in sorted(environ):
        if not name.startswith(PREFIX) or name in NOT_SETTINGS or name.startswith(TEST_PREFIX) or not environ[name]:
            continue
        if name in variables:
            yield GivenValue(variables[name], environ[name], f"environment variable {name}")
        elif not _is_of_kubernetes(name, environ[name]):
            _unknown_variable(name, variables, problems)


def variable_name(key: str) -> str:
    return PREFIX + key.upper().replace(".", "__")


def _is_of_kubernetes(name: str, value: str) -> bool:
    """Whether Kubernetes sets this variable for a service of that name; otherwise PENSTOCK_KAFKA_PORT is a mistake."""
    if name.endswith("_PORT") and _SERVICE_ADDRESS.match(value):
        return True
    return _SERVICE_VARIABLE.fullmatch(name) is not None


def _unknown_variable(name: str, variables: Iterable[str], problems: Problems) -> None:
    meant = {_bare(variable): variable for variable in variables}
    bare = _bare(name)
    if bare in meant:
        problems.append(f"environment variable {name}: write two underscores between section and name: {meant[bare]}")
        return
    close = difflib.get_close_matches(bare, list(meant), n=1, cutoff=0.6)
    hint = f"did you mean {meant[close[0]]}?" if close else "`penstock config show --explain` lists every variable"
    problems.append(f"environment variable {name}: unknown setting; {hint}")


def _bare(variable: str) -> str:
    """The name without its prefix, which would make all names similar, and with single underscores."""
    return variable.removeprefix(PREFIX).replace("__", "_")


def from_reference_environment(environ: Mapping[str, str]) -> Iterator[GivenValue]:
    for name, key in references.VARIABLES.items():
        if environ.get(name):
            yield GivenValue(key, environ[name], f"environment variable {name}")
