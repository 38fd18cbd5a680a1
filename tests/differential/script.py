"""Scripts: what is sent to a peer, as plain functions.

A script is run once against Apache Kafka and once against Penstock and leaves a transcript of the answers; the two
transcripts must be equal once ids, times and addresses are taken out. A script never asks which peer it has.

    @script("fetch-empty")
    def fetch_empty(peer: Peer) -> None:
        topic = peer.topic("t")
        peer.ask("fetch", 12, {...}, label="nothing there")

    @versions("metadata")                 # registers metadata-v0, metadata-v1 … for every advertised version
    def metadata(peer: Peer, version: int) -> None: ...

Scripts run side by side on one broker, so that they use names of their own (`peer.name`) and never look at all topics
or groups without expecting those of others. `alone=True` is for scripts that change what the whole broker does,
`settings` (in Kafka's names) for those that need a broker set up otherwise, `own_broker=True` for those that restart
it.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from penstock.protocol.kafka.apis import APIS
from tests.differential.peer import Peer

Body = Callable[[Peer], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    name: str
    body: Body
    family: str  # scripts of one family are kept in one file of vectors
    seconds: float  # about how long it takes: the long ones are begun first
    slow: bool  # left out of `make test`
    alone: bool  # nothing else runs on the broker meanwhile
    settings: Mapping[str, str] = field(default_factory=dict)  # in Kafka's names, beside `servers.BASE`
    own_broker: bool = False  # shares its broker with no other script, and may restart it


SCRIPTS: dict[str, Script] = {}


def _register(new: Script) -> None:
    assert new.name not in SCRIPTS, f"two scripts are called {new.name}"
    SCRIPTS[new.name] = new


def script(
    name: str,
    *,
    seconds: float = 1.0,
    settings: Mapping[str, str | int] | None = None,
    slow: bool = False,
    alone: bool = False,
    own_broker: bool = False,
    family: str | None = None,
) -> Callable[[Body], Body]:
    """Register one function under a name that nobody else has."""

    def register(body: Body) -> Body:
        given = {key: str(value) for key, value in (settings or {}).items()}
        _register(
            Script(
                name=name,
                body=body,
                family=family or name,
                seconds=seconds,
                slow=slow,
                alone=alone,
                settings=given,
                own_broker=own_broker,
            )
        )
        return body

    return register


def advertised(api: str) -> range:
    """The versions of an API (in snake case) that are really answered."""
    wanted = api.replace("_", "")
    (found,) = (each for each in APIS.values() if each.name.lower() == wanted)
    return range(found.oldest, found.newest + 1)


def versions(
    api: str, *, name: str | None = None, seconds: float = 1.0, alone: bool = False, slow: bool = False
) -> Callable[[Callable[[Peer, int], None]], Callable[[Peer, int], None]]:
    """Register one function for every version of an API, as `<name>-v<version>`, kept in one file of vectors."""

    def register(body: Callable[[Peer, int], None]) -> Callable[[Peer, int], None]:
        family = name or api.replace("_", "-")
        for version in advertised(api):
            _register_version(family, body, version)
        return body

    def _register_version(family: str, body: Callable[[Peer, int], None], version: int) -> None:
        _register(
            Script(
                name=f"{family}-v{version}",
                body=lambda peer: body(peer, version),
                family=family,
                seconds=seconds,
                slow=slow,
                alone=alone,
            )
        )

    return register


def load_scripts() -> dict[str, Script]:
    """Import every module of `requests` and `scenarios`; all scripts by name."""
    for package_name in ("tests.differential.requests", "tests.differential.scenarios"):
        package = importlib.import_module(package_name)
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{package_name}.{module.name}")
    return SCRIPTS
