"""DescribeConfigs, AlterConfigs, IncrementalAlterConfigs and ListConfigResources."""

from __future__ import annotations

from typing import Any

from tests.differential.peer import Peer
from tests.differential.script import script, versions

UNKNOWN, ANY, TOPIC, GROUP_OLD, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 0, 1, 2, 3, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3


@versions("describe_configs")
def describe_configs(peer: Peer, version: int) -> None:
    plain, changed = peer.topic("plain"), peer.topic("changed", configs={"retention.ms": "5000"})

    def ask(label: str, *resources: tuple[int, str, list[str] | None], **flags: bool) -> None:
        rows = [
            {"resource_type": kind, "resource_name": name, "configuration_keys": keys} for kind, name, keys in resources
        ]
        peer.ask("describe_configs", version, {"resources": rows, **flags}, label=label)

    ask("none")
    ask("all of a topic", (TOPIC, plain, None))
    ask("all of a topic, with synonyms", (TOPIC, changed, None), include_synonyms=True)
    ask("two configs", (TOPIC, changed, ["retention.ms", "cleanup.policy"]), include_synonyms=True)
    ask("no configs", (TOPIC, changed, []))
    ask("an unknown config", (TOPIC, changed, ["no.such.config", "retention.ms"]))
    ask("one config twice", (TOPIC, changed, ["retention.ms", "retention.ms"]))
    ask("two topics", (TOPIC, changed, ["retention.ms"]), (TOPIC, plain, ["retention.ms"]))
    ask("unknown topic", (TOPIC, peer.name("unknown"), None))
    ask("a bad topic name", (TOPIC, "a/b", None))
    ask("an empty topic name", (TOPIC, "", None))
    ask("a topic twice", (TOPIC, plain, ["retention.ms"]), (TOPIC, plain, ["retention.bytes"]))
    for name in ("1", ""):
        ask(f"broker '{name}'", (BROKER, name, BROKER_CONFIGS), include_synonyms=True)
    ask("unknown broker", (BROKER, "7", None))
    ask("a broker that is no number", (BROKER, "one", None))
    ask("all of the default broker", (BROKER, "", None))
    ask("loggers of an unknown broker", (BROKER_LOGGER, "7", None))
    ask("loggers of no broker", (BROKER_LOGGER, "", None))
    ask("unknown type", (UNKNOWN, "a", None))
    ask("any type", (ANY, "a", None))
    ask("type 99", (99, "a", None))
    ask("type -1", (-1, "a", None))
    ask("client metrics that are not there", (CLIENT_METRICS, peer.name("unknown"), None))
    ask("client metrics without a name", (CLIENT_METRICS, "", None))
    ask("group without a name", (GROUP, "", None))
    if version >= 3:
        _documentation(peer, version, plain)


BROKER_CONFIGS = [
    "auto.create.topics.enable",
    "broker.id",
    "compression.type",
    "default.replication.factor",
    "delete.topic.enable",
    "fetch.max.bytes",
    "group.initial.rebalance.delay.ms",
    "group.max.session.timeout.ms",
    "group.min.session.timeout.ms",
    "log.cleanup.policy",
    "log.cleaner.delete.retention.ms",
    "log.message.timestamp.type",
    "log.retention.bytes",
    "log.retention.check.interval.ms",
    "log.retention.hours",
    "log.retention.ms",
    "log.roll.hours",
    "log.roll.ms",
    "log.segment.bytes",
    "max.connections",
    "max.incremental.fetch.session.cache.slots",
    "message.max.bytes",
    "node.id",
    "num.partitions",
    "offset.metadata.max.bytes",
    "offsets.retention.minutes",
    "offsets.topic.num.partitions",
    "offsets.topic.replication.factor",
    "process.roles",
    "security.inter.broker.protocol",
    "socket.request.max.bytes",
    "unclean.leader.election.enable",
]


def _documentation(peer: Peer, version: int, topic: str) -> None:
    """The words are free; that there are some is not."""
    row = {"resource_type": TOPIC, "resource_name": topic, "configuration_keys": None}
    answer = peer.quietly("describe_configs", version, {"resources": [row], "include_documentation": True})
    configs = answer["results"][0]["configs"]
    documented = {each["name"] for each in configs if each["documentation"]}
    peer.note("documentation", sorted(documented - {"message.ttl.ms"}))  # which Kafka does not have


def _row(kind: int, name: str, *configs: tuple[Any, ...]) -> dict[str, Any]:
    """A resource with (name, value) or (name, operation, value)."""
    rows = [{"name": each[0], "config_operation": each[1], "value": each[-1]} for each in configs]
    return {"resource_type": kind, "resource_name": name, "configs": rows}


def _described(peer: Peer, topic: str, *names: str) -> None:
    row = {"resource_type": TOPIC, "resource_name": topic, "configuration_keys": list(names)}
    peer.ask("describe_configs", 4, {"resources": [row]}, label="now")


@versions("alter_configs")
def alter_configs(peer: Peer, version: int) -> None:
    topic, other = peer.topic("topic"), peer.topic("other", configs={"retention.ms": "5000"})

    def ask(label: str, *resources: dict[str, Any], validate_only: bool = False) -> None:
        body = {"resources": list(resources), "validate_only": validate_only}
        peer.ask("alter_configs", version, body, label=label)

    ask("none")
    ask("only validated", _row(TOPIC, topic, ("retention.ms", "77")), validate_only=True)
    ask("one config", _row(TOPIC, topic, ("retention.ms", "1000")))
    ask("another replaces it", _row(TOPIC, topic, ("retention.bytes", "2000")))
    ask("no configs", _row(TOPIC, other))
    ask("unknown topic", _row(TOPIC, peer.name("unknown"), ("retention.ms", "1")))
    ask("a bad topic name", _row(TOPIC, "a/b", ("retention.ms", "1")))
    ask("an empty topic name", _row(TOPIC, "", ("retention.ms", "1")))
    ask("unknown config", _row(TOPIC, topic, ("no.such.config", "1")))
    ask("no number", _row(TOPIC, topic, ("retention.ms", "soon")))
    ask("out of range", _row(TOPIC, topic, ("retention.ms", "-2")))
    ask("a null value", _row(TOPIC, topic, ("retention.ms", None)))
    ask("a config twice", _row(TOPIC, topic, ("retention.ms", "1"), ("retention.ms", "2")))
    ask("right and wrong", _row(TOPIC, other, ("retention.ms", "9000")), _row(TOPIC, topic, ("retention.ms", "soon")))
    ask("unknown broker", _row(BROKER, "7", ("log.retention.ms", "1")))
    ask("a broker that is no number", _row(BROKER, "one", ("log.retention.ms", "1")))
    ask("a read-only config", _row(BROKER, "1", ("node.id", "2")), validate_only=True)
    ask("loggers", _row(BROKER_LOGGER, "1", ("kafka", "DEBUG")))
    ask("unknown type", _row(UNKNOWN, "a", ("a", "1")))
    ask("type 99", _row(99, "a", ("a", "1")))
    peer.until(
        lambda: peer.ask("describe_configs", 4, _keys(other, "retention.ms"), label="now"),
        lambda answer: answer["results"][0]["configs"][0]["value"] == "9000",
    )


def _keys(topic: str, *names: str) -> dict[str, Any]:
    return {"resources": [{"resource_type": TOPIC, "resource_name": topic, "configuration_keys": list(names)}]}


@script("alter-configs-never-answered", seconds=2)
def alter_configs_never_answered(peer: Peer) -> None:
    """Requests on which Kafka fails, so that the client waits forever."""
    topic = peer.topic()
    twice = [_row(TOPIC, topic, ("retention.ms", "1")), _row(TOPIC, topic, ("retention.ms", "2"))]
    peer.ask("alter_configs", 2, {"resources": twice}, label="a topic twice", within_s=1.5)


@versions("incremental_alter_configs")
def incremental_alter_configs(peer: Peer, version: int) -> None:
    topic, other = peer.topic("topic"), peer.topic("other", configs={"retention.ms": "5000"})

    def ask(label: str, *resources: dict[str, Any], validate_only: bool = False) -> None:
        body = {"resources": list(resources), "validate_only": validate_only}
        peer.ask("incremental_alter_configs", version, body, label=label)

    def one(label: str, *configs: tuple[str, int, str | None], **options: bool) -> None:
        ask(label, _row(TOPIC, topic, *configs), **options)

    ask("none")
    one("no configs")
    one("only validated", ("retention.ms", SET, "77"), validate_only=True)
    one("set two", ("retention.ms", SET, "1000"), ("retention.bytes", SET, "2000"))
    one("delete one", ("retention.ms", DELETE, None))
    one("delete what is not set", ("retention.ms", DELETE, None))
    one("delete with a value", ("retention.bytes", DELETE, "5"))
    one("append", ("cleanup.policy", APPEND, "compact"))
    one("append again", ("cleanup.policy", APPEND, "compact"))
    one("subtract", ("cleanup.policy", SUBTRACT, "delete"))
    one("subtract what is not there", ("cleanup.policy", SUBTRACT, "delete"))
    one("append to what is no list", ("retention.ms", APPEND, "1"))
    one("subtract from what is no list", ("retention.ms", SUBTRACT, "1"))
    one("append rubbish", ("cleanup.policy", APPEND, "shred"))
    one("append null", ("cleanup.policy", APPEND, None))
    one("set null", ("retention.ms", SET, None))
    one("set nothing", ("retention.ms", SET, ""))
    one("unknown config", ("no.such.config", SET, "1"))
    one("delete an unknown config", ("no.such.config", DELETE, None))
    one("no number", ("retention.ms", SET, "soon"))
    one("a number with blanks", ("retention.ms", SET, " 1000 "))
    one("out of range", ("retention.ms", SET, "-2"))
    one("a config twice", ("retention.ms", SET, "1"), ("retention.ms", DELETE, None))
    one("an empty name", ("", SET, "1"))
    one("one right, one wrong", ("retention.ms", SET, "44"), ("segment.bytes", SET, "0"))
    ask("unknown topic", _row(TOPIC, peer.name("unknown"), ("retention.ms", SET, "1")))
    ask("a bad topic name", _row(TOPIC, "a/b", ("retention.ms", SET, "1")))
    ask("an empty topic name", _row(TOPIC, "", ("retention.ms", SET, "1")))
    ask("a topic twice", _row(TOPIC, topic, ("retention.ms", SET, "1")), _row(TOPIC, topic, ("retention.ms", SET, "2")))
    right = _row(TOPIC, other, ("retention.ms", SET, "9000"))
    ask("right and wrong", right, _row(TOPIC, topic, ("retention.ms", SET, "soon")))
    _wrong_resources(ask)
    _described(peer, topic, "retention.ms", "retention.bytes", "cleanup.policy")


def _wrong_resources(ask: Any) -> None:
    ask("unknown broker", _row(BROKER, "7", ("log.retention.ms", SET, "1")))
    ask("a broker that is no number", _row(BROKER, "one", ("log.retention.ms", SET, "1")))
    ask("a read-only config", _row(BROKER, "1", ("node.id", SET, "2")), validate_only=True)
    ask("an unknown broker config", _row(BROKER, "1", ("no.such.config", SET, "2")), validate_only=True)
    ask("a broker config that is no number", _row(BROKER, "", ("log.retention.ms", SET, "soon")), validate_only=True)
    ask("a broker config, validated", _row(BROKER, "", ("log.retention.ms", SET, "1000")), validate_only=True)
    ask("loggers without a broker", _row(BROKER_LOGGER, "", ("kafka", SET, "DEBUG")))
    ask("unknown type", _row(UNKNOWN, "a", ("a", SET, "1")))
    ask("any type", _row(ANY, "a", ("a", SET, "1")))
    ask("type 99", _row(99, "a", ("a", SET, "1")))
    ask("client metrics without a name", _row(CLIENT_METRICS, "", ("metrics", SET, "a")))
    ask("client metrics, unknown config", _row(CLIENT_METRICS, "m", ("nothing", SET, "a")))
    ask("a group without a name", _row(GROUP, "", ("consumer.session.timeout.ms", SET, "45000")))


@script("broker-configs", alone=True, seconds=4)
def broker_configs(peer: Peer) -> None:
    """Defaults of all topics, changed while the broker runs, and taken back."""
    topic = peer.topic()

    def change(label: str, broker: str, operation: int, value: str | None, name: str = "log.retention.bytes") -> None:
        resources = [_row(BROKER, broker, (name, operation, value))]
        peer.ask("incremental_alter_configs", 1, {"resources": resources}, label=label)

    def seen(value: str) -> None:
        peer.until(
            lambda: peer.ask(
                "describe_configs", 4, {**_keys(topic, "retention.bytes"), "include_synonyms": True}, label=value
            ),
            lambda answer: answer["results"][0]["configs"][0]["value"] == value,
        )
        for broker in ("1", ""):
            row = {"resource_type": BROKER, "resource_name": broker, "configuration_keys": ["log.retention.bytes"]}
            body = {"resources": [row], "include_synonyms": True}
            peer.ask("describe_configs", 4, body, label=f"broker '{broker}' at {value}")

    seen("-1")
    change("of all brokers", "", SET, "1000000")
    seen("1000000")
    change("of one broker", "1", SET, "2000000")
    seen("2000000")
    change("no longer of one", "1", DELETE, None)
    seen("1000000")
    change("wrong", "", SET, "many")
    change("no longer of all", "", DELETE, None)
    seen("-1")


@versions("list_config_resources", alone=True)
def list_config_resources(peer: Peer, version: int) -> None:
    peer.topic()

    def ask(label: str, *kinds: int) -> None:
        peer.ask("list_config_resources", version, {"resource_types": list(kinds)}, label=label)

    if version == 0:
        ask("client metrics")
        return
    ask("all")
    ask("topics", TOPIC)
    ask("brokers", BROKER)
    ask("loggers", BROKER_LOGGER)
    ask("client metrics", CLIENT_METRICS)
    ask("groups", GROUP)
    ask("topics and brokers", TOPIC, BROKER)
    ask("topics twice", TOPIC, TOPIC)
    ask("unknown", UNKNOWN)
    ask("any", ANY)
    ask("99", 99)
    ask("-1", -1)
    ask("one known, one not", TOPIC, 99)
