"""What is said of a pipe: on its status page, in the health report, on the metrics page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.observability.health import Health
from penstock.observability.metrics import BrokerMetrics
from penstock.topology.pipe.follower import Followed, Place
from penstock.topology.pipe.health import PipeState
from penstock.topology.pipe.server import PipeServer

if TYPE_CHECKING:
    from penstock.cluster.topics import Topic
    from penstock.topology.pipe.pipe import Pipe


def describe(pipe: Pipe) -> dict[str, Any]:
    counts = pipe.keeper.counts
    topics = [_mirror(pipe, topic) for topic in pipe.keeper.mirrors()]
    refused = [
        {"name": name, "state": "REFUSED", "reason": reason} for name, reason in sorted(pipe.keeper.refused.items())
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
    elif topic.name in pipe.keeper.lost:
        state, reason = "MISSING", "the parent has no such topic"
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


def connect_pipe_probes(pipe: Pipe, server: PipeServer, metrics: BrokerMetrics, health: Health) -> None:
    """Gauges that are read at a scrape, and what the health report says."""
    counts = pipe.keeper.counts
    gauges = {
        "penstock_pipe_health": ("0 HEALTHY, 1 DEGRADED, 2 UNHEALTHY", lambda: _state(pipe)),
        "penstock_pipe_lag_messages": ("Offsets that the parent has and this node not", lambda: _lag(pipe)),
        "penstock_pipe_lag_seconds": ("Time since this node had all that its parent has", lambda: pipe.lag_ms / 1000),
        "penstock_pipe_mirrors": ("Topics that are mirrors", lambda: len(pipe.keeper.mirrors())),
        "penstock_pipe_diverged_topics": ("Mirrors that have diverged", lambda: len(diverged(pipe))),
        "penstock_pipe_pulls": ("Questions of children that are waiting", lambda: server.pull_count),
    }
    counters = {
        "penstock_pipe_failures_total": ("Attempts to follow the parent that failed", lambda: pipe.failure_count),
        "penstock_pipe_gaps_total": ("Times that the parent's log started after this node's end", lambda: counts.gaps),
        "penstock_pipe_missed_offsets_total": ("Offsets in those gaps", lambda: counts.missed),
        "penstock_pipe_bytes_total": ("Bytes of batches that were mirrored", lambda: counts.size_bytes),
        "penstock_pipe_messages_total": ("Messages that were mirrored", lambda: counts.messages),
        "penstock_pipe_sent_bytes_total": ("Bytes of batches that children were sent", lambda: server.sent_bytes),
    }
    for name, (help_text, read) in gauges.items():
        metrics.add_gauge(name, help_text, read)
    for name, (help_text, read) in counters.items():
        metrics.add_counter(name, help_text, read)
    health.add_detail("pipe", lambda: _detail(pipe))
    health.add_warning("pipe", lambda: _warning(pipe))


def diverged(pipe: Pipe) -> list[str]:
    return sorted(topic.name for topic in pipe.keeper.mirrors() if topic.diverged)


def _state(pipe: Pipe) -> int:
    return int(pipe.state) if pipe.parent_url is not None else 0


def _lag(pipe: Pipe) -> int:
    return pipe.follower.lag_messages


def _detail(pipe: Pipe) -> str | None:
    if pipe.parent_url is None:
        return None
    return (
        f"{pipe.state.name}, {pipe.follower.lag_messages} messages and {pipe.lag_ms / 1000:.1f} s behind"
        f" {pipe.parent_url}"
    )


def _warning(pipe: Pipe) -> str | None:
    told = []
    if pipe.parent_url is not None and pipe.state is not PipeState.HEALTHY:
        told.append(f"{pipe.state.name}: {pipe.last_failure or 'too far behind the parent'}")
    names = diverged(pipe)
    if names:
        told.append(f"diverged: {', '.join(names[:10])}; see penstock pipe status, then penstock pipe reset")
    return "; ".join(told) or None
