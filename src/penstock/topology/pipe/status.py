"""The status of a pipe: for its status page, the health report and the metrics page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from prometheus_client.core import Metric

from penstock.observability.health import Health
from penstock.observability.metrics import BrokerMetrics
from penstock.observability.probes import counter, gauge
from penstock.topology.pipe.follower import Followed, Place
from penstock.topology.pipe.health import PipeState
from penstock.topology.pipe.mirror_backend import LOST
from penstock.topology.pipe.server import PipeServer

if TYPE_CHECKING:
    from penstock.cluster.topics import Topic
    from penstock.topology.pipe.pipe import Pipe


def describe(pipe: Pipe) -> dict[str, Any]:
    counts = pipe.backend.counts
    topics = [_mirror(pipe, topic) for topic in pipe.backend.mirrors()]
    refused = [
        {"name": name, "state": "REFUSED", "reason": reason} for name, reason in sorted(pipe.backend.refused.items())
    ]
    return {
        "parentUrl": pipe.parent_url,
        "health": pipe.state.name if pipe.parent_url is not None else "NONE",
        "lagMessages": pipe.follower.lag_messages,
        "lagSeconds": round(pipe.lag_ms / 1000, 3),
        "failures": pipe.failure_count,
        "failuresInARow": pipe.health.failures,
        "lastFailure": pipe.last_failure or None,
        "gaps": counts.gaps,
        "missedOffsets": counts.missed,
        "batches": counts.batches,
        "messages": counts.messages,
        "bytes": counts.size_bytes,
        "topics": sorted(topics, key=lambda topic: str(topic["name"])) + refused,
    }


def _mirror(pipe: Pipe, topic: Topic) -> dict[str, Any]:
    followed = {
        place.partition: one
        for place, one in pipe.follower.partitions.items()
        if place == Place(topic.topic_id.bytes, place.partition)
    }
    state, reason = "FOLLOWING", ""
    if topic.diverged:
        state, reason = "DIVERGED", topic.diverged
    elif topic.name in pipe.backend.lost:
        state, reason = "MISSING", LOST
    elif not followed:
        state = "WAITING"
    described: dict[str, Any] = {
        "name": topic.name,
        "id": str(topic.topic_id),
        "state": state,
        "partitions": [_partition(index, one) for index, one in sorted(followed.items())],
    }
    if reason:
        described["reason"] = reason
    return described


def _partition(index: int, one: Followed) -> dict[str, Any]:
    described: dict[str, Any] = {"partition": index, "logEnd": one.offset, "parentEnd": one.high_watermark}
    if one.trouble:
        described["trouble"] = one.trouble
    return described


def connect_pipe(pipe: Pipe, server: PipeServer, metrics: BrokerMetrics, health: Health) -> None:
    """Add the pipe to the metrics page and to the health report."""
    metrics.add_probe(PipeProbe(pipe, server))
    health.add_detail("pipe", lambda: _detail(pipe))
    health.add_warning("pipe", lambda: _warning(pipe))


class PipeProbe:
    def __init__(self, pipe: Pipe, server: PipeServer) -> None:
        self._pipe = pipe
        self._server = server

    def families(self) -> Iterator[Metric]:
        pipe, counts = self._pipe, self._pipe.backend.counts
        mirrors = pipe.backend.mirrors()
        yield gauge("penstock_pipe_health", "0 HEALTHY, 1 DEGRADED, 2 UNHEALTHY", _state(pipe))
        yield gauge("penstock_pipe_lag_messages", "Offsets that only the parent has", pipe.follower.lag_messages)
        yield gauge(
            "penstock_pipe_lag_seconds", "Time since this node had everything that its parent has", pipe.lag_ms / 1000
        )
        yield gauge("penstock_pipe_mirrors", "Topics that are mirrors", len(mirrors))
        yield gauge("penstock_pipe_diverged_topics", "Mirrors that have diverged", len(diverged(pipe)))
        yield counter("penstock_pipe_failures", "Attempts to follow the parent that failed", pipe.failure_count)
        yield counter("penstock_pipe_gaps", "Times that the parent's log started after this node's end", counts.gaps)
        yield counter("penstock_pipe_missed_offsets", "Offsets in those gaps", counts.missed)
        yield counter("penstock_pipe_bytes", "Bytes of batches that were mirrored", counts.size_bytes)
        yield counter("penstock_pipe_messages", "Messages that were mirrored", counts.messages)
        yield gauge(
            "penstock_pipe_pulls",
            "Requests of children under way",
            self._server.pull_count,
        )
        yield counter("penstock_pipe_sent_bytes", "Bytes of batches that children were sent", self._server.sent_bytes)


def diverged(pipe: Pipe) -> list[str]:
    return sorted(topic.name for topic in pipe.backend.mirrors() if topic.diverged)


def _state(pipe: Pipe) -> int:
    return int(pipe.state) if pipe.parent_url is not None else 0


def _detail(pipe: Pipe) -> str | None:
    if pipe.parent_url is None:
        return None
    return (
        f"{pipe.state.name}, {pipe.follower.lag_messages} messages and {pipe.lag_ms / 1000:.1f} s behind"
        f" {pipe.parent_url}"
    )


def _warning(pipe: Pipe) -> str | None:
    problems = []
    if pipe.parent_url is not None and pipe.state is not PipeState.HEALTHY:
        problems.append(f"{pipe.state.name}: {pipe.last_failure or 'too far behind the parent'}")
    names = diverged(pipe)
    if names:
        problems.append(f"diverged: {', '.join(names[:10])}; see penstock pipe status, then penstock pipe reset")
    return "; ".join(problems) or None
