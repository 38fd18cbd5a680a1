"""The configs of one log as they are now. Its parts hold this object; an altered topic replaces what it holds."""

from __future__ import annotations

from penstock.storage.interface import LogConfig


class LiveConfig:
    """One reference that is replaced as a whole, so that any thread may read it."""

    __slots__ = ("current",)

    def __init__(self, config: LogConfig) -> None:
        self.current = config
