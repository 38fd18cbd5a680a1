"""The batches of a pipeline's streaming flows, as Spark reports them to a listener of the session."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from penstock_spark.errors import BadOption
from penstock_spark.reading.planning.progress import Progress


class ProgressListener(StreamingQueryListener):
    def __init__(self, tell: Callable[[Mapping[str, Any]], None]) -> None:
        self._tell = tell

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802
        pass

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        self._tell(batch_event(json.loads(event.progress.json)))

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
        pass

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        pass


def batch_event(progress: Mapping[str, Any]) -> dict[str, Any]:
    """The relevant figures of Spark's own report, and the lag if the flow reads topics."""
    sources = progress.get("sources", [])
    reached = [(end, _latest(source, end)) for source in sources if (end := _offsets(source.get("endOffset")))]
    return {
        "kind": "progress",
        "flow": progress.get("name") or progress["id"],
        "batch": progress["batchId"],
        "rows": sum(source.get("numInputRows", 0) for source in sources),
        "seconds": progress.get("durationMs", {}).get("triggerExecution", 0) / 1000,
        "lag": sum(_behind(end, latest) for end, latest in reached) if reached else None,
        "groups": [end.group for end, _ in reached if end.is_ours],
    }


def _offsets(value: object) -> Progress | None:
    """Offsets in topics; those of sources that read something else are ignored."""
    try:
        return Progress.from_json(json.loads(value) if isinstance(value, str) else value)
    except (BadOption, ValueError):
        return None


def _latest(source: Mapping[str, Any], end: Progress) -> Progress:
    """The ends of the topics; a source that has not asked yet has read everything that it knows of."""
    return _offsets(source.get("latestOffset")) or end


def _behind(end: Progress, latest: Progress) -> int:
    return sum(max(0, offset - end.offsets.get(place, offset)) for place, offset in latest.offsets.items())
