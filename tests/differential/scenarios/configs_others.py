"""Configs of brokers, groups and client-metrics subscriptions."""

from tests.differential.peer import Peer
from tests.differential.script import script
from tests.differential.steps.configs import (
    APPEND,
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    DELETE,
    GROUP,
    SET,
    SUBTRACT,
    TOPIC,
    alter,
    change,
    describe_configs,
)
from tests.differential.steps.topics import create

NODE, EVERY_BROKER = "1", ""


@script("broker-config-defaults", seconds=3, family="configs", own_broker=True)
def broker_defaults(peer: Peer) -> None:
    """Dynamic defaults of topic configs, for one broker and for all; topics inherit them, with their sources."""
    topic = create(peer, "inherits")

    def look(label: str) -> None:
        for name in (NODE, EVERY_BROKER):
            describe_configs(peer, BROKER, name, ["message.max.bytes", "log.cleanup.policy"], label=label)
        describe_configs(peer, TOPIC, topic, ["max.message.bytes", "cleanup.policy"], label=label)

    look("nothing set")
    change(peer, BROKER, EVERY_BROKER, [("message.max.bytes", SET, "700000")])
    _settled(peer, topic, "700000")
    look("for all")
    change(peer, BROKER, NODE, [("message.max.bytes", SET, "600000")])
    _settled(peer, topic, "600000")
    look("for one, too")
    change(peer, TOPIC, topic, [("max.message.bytes", SET, "500000")])
    look("and for the topic")
    change(peer, TOPIC, topic, [("max.message.bytes", DELETE, None)])
    change(peer, BROKER, NODE, [("message.max.bytes", DELETE, None)])
    _settled(peer, topic, "700000")
    look("for all again")
    change(peer, BROKER, EVERY_BROKER, [("log.cleanup.policy", APPEND, "compact")])
    peer.until(
        lambda: describe_configs(peer, BROKER, NODE, ["log.cleanup.policy"]),
        lambda answer: answer["results"][0]["configs"][0]["value"] == "delete,compact",
    )
    look("appended")
    change(
        peer, BROKER, EVERY_BROKER, [("log.cleanup.policy", SUBTRACT, "compact"), ("message.max.bytes", DELETE, None)]
    )
    _settled(peer, topic, "1048588")
    change(peer, BROKER, EVERY_BROKER, [("log.cleanup.policy", DELETE, None)])
    peer.until(
        lambda: describe_configs(peer, BROKER, NODE, ["log.cleanup.policy"]),
        lambda answer: len(answer["results"][0]["configs"][0]["synonyms"]) == 1,
    )
    look("nothing again")
    alter(peer, BROKER, EVERY_BROKER, {"message.max.bytes": "800000"})
    alter(peer, BROKER, EVERY_BROKER, {})
    _minimum_in_sync(peer, topic)


def _minimum_in_sync(peer: Peer, topic: str) -> None:
    """`min.insync.replicas` is always set for all brokers, and never for one."""
    name = "min.insync.replicas"

    def look(label: str) -> None:
        for kind, resource in ((BROKER, NODE), (BROKER, EVERY_BROKER), (TOPIC, topic)):
            describe_configs(peer, kind, resource, [name], label=label)

    look("at first")
    change(peer, BROKER, EVERY_BROKER, [(name, DELETE, None)])
    change(peer, BROKER, EVERY_BROKER, [(name, DELETE, None)], validate=True)
    change(peer, BROKER, EVERY_BROKER, [(name, SET, "2")])
    look("2")
    change(peer, BROKER, EVERY_BROKER, [(name, DELETE, None)])
    for wrong in ("0", "x", None):
        change(peer, BROKER, EVERY_BROKER, [(name, SET, wrong)])
    change(peer, BROKER, NODE, [(name, SET, "1")])
    change(peer, BROKER, NODE, [(name, DELETE, None), ("message.max.bytes", SET, "900000")])
    alter(peer, BROKER, NODE, {name: "1"})
    alter(peer, BROKER, EVERY_BROKER, {name: "1", "message.max.bytes": "800000"})
    look("replaced")
    alter(peer, BROKER, EVERY_BROKER, {name: "1"})
    alter(peer, BROKER, NODE, {})


def _settled(peer: Peer, topic: str, value: str) -> None:
    """Kafka's brokers learn of dynamic configs a moment later."""
    peer.until(
        lambda: describe_configs(peer, TOPIC, topic, ["max.message.bytes"]),
        lambda answer: answer["results"][0]["configs"][0]["value"] == value,
    )


@script("broker-config-mistakes", seconds=2, family="configs", own_broker=True)
def broker_mistakes(peer: Peer) -> None:
    """Configs that cannot be set at run time, invalid values, and brokers that do not exist."""
    for name in (NODE, EVERY_BROKER):
        for wrong in (
            [("node.id", SET, "7")],
            [("log.dirs", SET, "/tmp")],
            [("listeners", SET, "PLAINTEXT://:9092")],
            [("no.such.config", SET, "1")],
            [("message.max.bytes", SET, "x")],
            [("message.max.bytes", SET, "-1")],
            [("message.max.bytes", SET, None)],
            [("message.max.bytes", APPEND, "1")],
            [("log.retention.ms", SET, "-2")],
            [("log.cleanup.policy", SET, "nonsense")],
            [("message.max.bytes", SET, "1"), ("message.max.bytes", SET, "2")],
        ):
            change(peer, BROKER, name, wrong)
            change(peer, BROKER, name, wrong, validate=True)
    for name in ("2", "x", "-1", " 1"):
        change(peer, BROKER, name, [("message.max.bytes", SET, "1000000")])
        alter(peer, BROKER, name, {})
        describe_configs(peer, BROKER, name, ["message.max.bytes"])
        describe_configs(peer, BROKER_LOGGER, name, ["no.such.logger"])
    describe_configs(peer, BROKER_LOGGER, "", None)
    describe_configs(peer, BROKER, NODE, ["no.such.config"])
    describe_configs(peer, BROKER, EVERY_BROKER, ["no.such.config"])


@script("group-configs", seconds=2, family="configs")
def group_configs(peer: Peer) -> None:
    """Configs of groups, which need not exist."""
    group = peer.name("group")
    keys = ["consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"]
    for version in (1, 3, 4):
        describe_configs(peer, GROUP, group, keys, version=version)
    describe_configs(peer, GROUP, "", keys)
    change(peer, GROUP, group, [("consumer.session.timeout.ms", SET, "50000")])
    describe_configs(peer, GROUP, group, keys)
    for wrong in (
        [("consumer.session.timeout.ms", SET, "1")],
        [("consumer.session.timeout.ms", SET, "x")],
        [("consumer.session.timeout.ms", SET, "99999999")],
        [("consumer.heartbeat.interval.ms", SET, "50001")],
        [("no.such.config", SET, "1")],
        [("consumer.session.timeout.ms", APPEND, "1")],
        [("consumer.session.timeout.ms", SET, None)],
    ):
        change(peer, GROUP, group, wrong)
        change(peer, GROUP, group, wrong, validate=True)
    change(peer, GROUP, "", [("consumer.session.timeout.ms", SET, "50000")])
    change(peer, GROUP, group, [("consumer.session.timeout.ms", DELETE, None)])
    describe_configs(peer, GROUP, group, keys)
    alter(peer, GROUP, group, {"consumer.heartbeat.interval.ms": "6000"})
    describe_configs(peer, GROUP, group, keys)
    alter(peer, GROUP, group, {})
    describe_configs(peer, GROUP, group, keys)


@script("client-metrics-configs", seconds=2, family="configs")
def client_metrics_configs(peer: Peer) -> None:
    """Subscriptions for the clients' metrics (KIP-714)."""
    name = peer.name("subscription")
    for version in (1, 3, 4):
        describe_configs(peer, CLIENT_METRICS, name, None, version=version)
    describe_configs(peer, CLIENT_METRICS, "", None)
    change(peer, CLIENT_METRICS, name, [("metrics", SET, "org.apache.kafka.nothing"), ("interval.ms", SET, "60000")])
    describe_configs(peer, CLIENT_METRICS, name, None)
    change(peer, CLIENT_METRICS, name, [("match", SET, "client_id=nobody-has-this-id")])
    change(peer, CLIENT_METRICS, name, [("metrics", APPEND, "org.apache.kafka.none")])
    describe_configs(peer, CLIENT_METRICS, name, None)
    for wrong in (
        [("interval.ms", SET, "99")],
        [("interval.ms", SET, "3600001")],
        [("interval.ms", SET, "x")],
        [("match", SET, "nonsense")],
        [("match", SET, "no_such_key=1")],
        [("match", SET, "client_id=[")],
        [("no.such.config", SET, "1")],
        [("interval.ms", APPEND, "100")],
        [("metrics", SET, None)],
    ):
        change(peer, CLIENT_METRICS, name, wrong)
        change(peer, CLIENT_METRICS, name, wrong, validate=True)
    change(peer, CLIENT_METRICS, "", [("interval.ms", SET, "1000")])
    describe_configs(peer, CLIENT_METRICS, name, None)
    peer.ask("list_config_resources", 1, {"resource_types": [CLIENT_METRICS]})
    peer.ask("list_config_resources", 0, {})
    alter(peer, CLIENT_METRICS, name, {})
    describe_configs(peer, CLIENT_METRICS, name, None)
