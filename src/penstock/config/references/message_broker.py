"""The names of a small message broker whose users come here: its keys and its QB_ variables.

Its times are in seconds, and syncing is a boolean. Everything is translated into settings of the tree, so that bounds,
defaults and origins are those of the settings.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.config.references.entry import Becomes, Entry, truth


def _milliseconds(value: object) -> object:
    """Seconds as milliseconds. The type check refuses anything but a number."""
    try:
        return round(float(value) * 1000)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return value


def _flush(value: object) -> object:
    """The flush mode for true and false, also as text. The type check refuses anything else."""
    meaning = truth(value)
    return value if meaning is None else "always" if meaning else "os"


KEYS: Mapping[str, Entry] = {
    "server.host": Becomes(("push.host",)),
    "server.port": Becomes(("push.port",)),
    "server.heartbeat_interval": Becomes(("push.heartbeat_interval_ms",), _milliseconds, "in seconds"),
    "storage.data_dir": Becomes(("node.data_dir",)),
    "storage.fsync_on_write": Becomes(("storage.flush",), _flush, "true is `always`, false is `os`"),
    "client.request_timeout": Becomes(("client.request_timeout_ms",), _milliseconds, "in seconds"),
    "client.heartbeat_interval": Becomes(("client.heartbeat_interval_ms",), _milliseconds, "in seconds"),
}
VARIABLES: Mapping[str, str] = {
    "QB_SERVER_HOST": "push.host",
    "QB_SERVER_PORT": "push.port",
    "QB_DATA_DIR": "node.data_dir",
    "QB_LOG_LEVEL": "logging.level",
}
