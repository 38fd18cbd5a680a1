"""The names of a small message broker whose users come here: its keys, its QB_ variables, and their values as ours.

Its times are seconds, and whether it syncs is yes or no. Everything is translated into settings of the tree, so that
bounds, defaults and origins are those of the settings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple


class Translation(NamedTuple):
    setting: str
    value: Callable[[object], object] = lambda value: value


def _milliseconds(value: object) -> object:
    """What is no number is left for the type check to refuse."""
    try:
        return round(float(value) * 1000)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return value


def _flush(value: object) -> object:
    """True and false, also as text; anything else is left for the type check to refuse."""
    meanings = {"true": "always", "yes": "always", "1": "always", "false": "os", "no": "os", "0": "os"}
    return meanings.get(str(value).strip().lower(), value)


KEYS: Mapping[str, Translation] = {
    "server.host": Translation("push.host"),
    "server.port": Translation("push.port"),
    "server.heartbeat_interval": Translation("push.heartbeat_interval_ms", _milliseconds),
    "storage.data_dir": Translation("node.data_dir"),
    "storage.fsync_on_write": Translation("storage.flush", _flush),
    "client.request_timeout": Translation("client.request_timeout_ms", _milliseconds),
    "client.heartbeat_interval": Translation("client.heartbeat_interval_ms", _milliseconds),
}
VARIABLES: Mapping[str, str] = {
    "QB_SERVER_HOST": "push.host",
    "QB_SERVER_PORT": "push.port",
    "QB_DATA_DIR": "node.data_dir",
    "QB_LOG_LEVEL": "logging.level",
}
SECTIONS = frozenset(key.partition(".")[0] for key in KEYS)
