"""A client's identity: its id, and an epoch that distinguishes this process from earlier ones with the same id."""

from __future__ import annotations

import os
import secrets
import threading
import time

_lock = threading.Lock()
_last_epoch = 0


def new_client_id() -> str:
    return f"client-{os.getpid()}-{secrets.token_hex(6)}"


def new_epoch() -> int:
    """An epoch larger than any before, also in this process: nanoseconds since 1970."""
    global _last_epoch
    with _lock:
        _last_epoch = max(_last_epoch + 1, time.time_ns())
        return _last_epoch
