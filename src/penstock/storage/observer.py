"""Events of the log engine, for metrics. Every method is called on the event loop and must be quick."""

from __future__ import annotations

from typing import Protocol


class EngineObserver(Protocol):
    """Implemented by the metrics of a node."""

    def flush_round(self, seconds: float, logs: int, files: int, failed: bool = False) -> None: ...
    def rolled(self, seconds: float) -> None: ...
    def recovered(self, seconds: float, scanned_bytes: int = 0, cut_bytes: int = 0) -> None: ...
    def compacted(self, seconds: float) -> None: ...
    def corrupt_batch(self) -> None: ...
    def segments_removed(self, count: int) -> None: ...


class SilentObserver:
    """Counts nothing."""

    def flush_round(self, seconds: float, logs: int, files: int, failed: bool = False) -> None:
        pass

    def rolled(self, seconds: float) -> None:
        pass

    def recovered(self, seconds: float, scanned_bytes: int = 0, cut_bytes: int = 0) -> None:
        pass

    def compacted(self, seconds: float) -> None:
        pass

    def corrupt_batch(self) -> None:
        pass

    def segments_removed(self, count: int) -> None:
        pass
