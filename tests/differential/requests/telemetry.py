"""GetTelemetrySubscriptions and PushTelemetry (KIP-714), which Kafka answers only where a plugin takes what comes."""

from __future__ import annotations

from typing import Any

from tests.differential.peer import Answer, Peer
from tests.differential.requests.configs import CLIENT_METRICS, SET
from tests.differential.script import versions
from tests.support.metrics_data import gauge, metrics_data, point

NOBODY = "7a7a7a7a-0000-4000-8000-000000000002"
PAYLOAD = metrics_data(gauge("org.apache.kafka.test", point(1.5)))


def _subscribe(peer: Peer, **configs: str) -> None:
    """A subscription of this script only, by its client id."""
    wanted = {"metrics": "org.apache.kafka.test", "interval_ms": "60000", **configs}
    rows = [{"name": name.replace("_", "."), "config_operation": SET, "value": value} for name, value in wanted.items()]
    resource = {"resource_type": CLIENT_METRICS, "resource_name": peer.name("subscription"), "configs": rows}
    answer = peer.quietly("incremental_alter_configs", 1, {"resources": [resource]})
    assert answer["responses"][0]["error_code"] == 0, answer


def _unsubscribe(peer: Peer) -> None:
    resource = {"resource_type": CLIENT_METRICS, "resource_name": peer.name("subscription"), "configs": []}
    peer.quietly("alter_configs", 2, {"resources": [resource]})


@versions("get_telemetry_subscriptions", seconds=3, alone=True)
def get_telemetry_subscriptions(peer: Peer, version: int) -> None:
    def ask(label: str, who: str | None, on: str = "main") -> Answer:
        body = {"client_instance_id": who}
        return peer.ask("get_telemetry_subscriptions", version, body, on=on, client_id=peer.name("client"), label=label)

    first = ask("a new client, nothing subscribed", None)
    ask("again, too early", first["client_instance_id"])
    ask("another new client", None, on="other")
    ask("an id that the client made", NOBODY)
    _subscribe(peer, match=f"client_id={peer.name('client')}")
    peer.until(lambda: ask("subscribed", None), lambda answer: bool(answer["requested_metrics"]))
    _unsubscribe(peer)
    peer.until(lambda: ask("no longer subscribed", None), lambda answer: not answer["requested_metrics"])


@versions("push_telemetry", seconds=4, alone=True)
def push_telemetry(peer: Peer, version: int) -> None:
    client = peer.name("client")
    _subscribe(peer, match=f"client_id={client}")

    def newcomer() -> Answer:
        """A client that has been told what to push."""
        body: dict[str, Any] = {"client_instance_id": None}

        def told() -> Answer:
            return peer.quietly("get_telemetry_subscriptions", 0, body, client_id=client)

        answer = told()
        while not answer["requested_metrics"]:
            answer = told()
        return answer

    def push(label: str, who: Answer, **changes: Any) -> None:
        body = {
            "client_instance_id": who["client_instance_id"],
            "subscription_id": who["subscription_id"],
            "terminating": False,
            "compression_type": 0,
            "metrics": PAYLOAD,
            **changes,
        }
        peer.ask("push_telemetry", version, body, client_id=client, label=label)

    known = newcomer()
    push("what was asked for", known)
    push("again, too early", known)
    push("the last one comes early, too", known, terminating=True)
    push("after the last one", known, terminating=True)
    push("nothing", newcomer(), metrics=b"")
    push("an unknown subscription", newcomer(), subscription_id=12_345)
    push("no client", newcomer(), client_instance_id=None)
    push("an unknown client", newcomer(), client_instance_id=NOBODY)
    push("an unknown codec", newcomer(), compression_type=9)
    push("bytes that are no metrics", newcomer(), metrics=b"\xff\xff\xff\xff")
    push("gzip that is none", newcomer(), compression_type=1)
    push("too large", newcomer(), metrics=bytes(2 << 20))
    _unsubscribe(peer)
    peer.until(
        lambda: peer.quietly("get_telemetry_subscriptions", 0, {"client_instance_id": None}, client_id=client),
        lambda answer: not answer["requested_metrics"],
    )
