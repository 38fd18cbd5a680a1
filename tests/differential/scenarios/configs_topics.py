"""Configs of topics: what may be set, what an operation does, where a value comes from, and what it changes."""

from tests.differential.peer import Peer
from tests.differential.script import script
from tests.differential.steps.configs import APPEND, DELETE, SET, SUBTRACT, TOPIC, alter, change, describe_configs
from tests.differential.steps.topics import T0, create, fetch, list_offset, produce, values
from tests.support.batches import CODEC_GZIP, CODEC_LZ4, CODEC_SNAPPY, CODEC_ZSTD, Record, batch

SHOWN = ["cleanup.policy", "compression.type", "max.message.bytes", "min.insync.replicas", "retention.ms"]

TRIES: dict[str, tuple[str, ...]] = {
    "cleanup.policy": ("delete", "compact", "compact,delete", " compact , delete ", "delete,delete", "", "Delete"),
    "compression.gzip.level": ("-1", "1", "9", "0", "10", "x"),
    "compression.lz4.level": ("1", "17", "0", "18"),
    "compression.type": ("producer", "uncompressed", "lz4", "GZIP", "none", ""),
    "compression.zstd.level": ("-131072", "22", "-131073", "23"),
    "delete.retention.ms": ("0", "-1", "9223372036854775807", "9223372036854775808"),
    "file.delete.delay.ms": ("0", "-1"),
    "flush.messages": ("1", "0", "9223372036854775807"),
    "flush.ms": ("0", "-1"),
    "follower.replication.throttled.replicas": ("", "*", "0:1", "none", "0:x", "0-1"),
    "index.interval.bytes": ("0", "-1", "2147483647", "2147483648"),
    "leader.replication.throttled.replicas": ("*", "1:0,0:1", "x"),
    "local.retention.bytes": ("-2", "-3", "0"),
    "local.retention.ms": ("-2", "-3", "0"),
    "max.compaction.lag.ms": ("1", "0"),
    "max.message.bytes": ("0", "-1", "2147483647", "1.5", " 7 ", "0x10", "+5", "1e3"),
    "message.timestamp.after.max.ms": ("0", "-1"),
    "message.timestamp.before.max.ms": ("0", "-1"),
    "message.timestamp.type": ("CreateTime", "LogAppendTime", "logappendtime", "x"),
    "min.cleanable.dirty.ratio": ("0", "1", "0.5", "-0.1", "1.1", "x", "NaN", ".5", "1e-1"),
    "min.compaction.lag.ms": ("0", "-1"),
    "min.insync.replicas": ("1", "0", "5", "x"),
    "preallocate": ("true", "FALSE", "1", "yes"),
    "remote.copy.disable": ("true", "x"),
    "remote.log.delete.on.disable": ("false", "x"),
    "retention.bytes": ("-1", "-2", "0"),
    "retention.ms": ("-1", "-2", "0"),
    "segment.bytes": ("1048576", "1048575", "2147483647", "x"),
    "segment.index.bytes": ("4", "3"),
    "segment.jitter.ms": ("0", "-1"),
    "segment.ms": ("1", "0"),
    "unclean.leader.election.enable": ("true", "False", "x"),
}  # fmt: skip


@script("topic-config-changes", seconds=2, family="configs")
def changes(peer: Peer) -> None:
    """Set, delete, append and subtract, several at a time, twice the same, and only to validate."""
    topic = create(peer, "changes")

    def look(label: str) -> None:
        describe_configs(peer, TOPIC, topic, SHOWN, label=label)

    look("as created")
    for version in (0, 1):
        change(peer, TOPIC, topic, [("max.message.bytes", SET, "5000")], version=version, validate=True)
        look("validated only")
        change(
            peer, TOPIC, topic, [("max.message.bytes", SET, "5000"), ("compression.type", SET, "gzip")], version=version
        )
        look("set")
        change(
            peer, TOPIC, topic, [("max.message.bytes", DELETE, None), ("retention.ms", DELETE, "7")], version=version
        )
        look("deleted")
        change(peer, TOPIC, topic, [("cleanup.policy", APPEND, "compact")], version=version)
        look("appended")
        change(peer, TOPIC, topic, [("cleanup.policy", APPEND, "compact")], version=version)
        change(peer, TOPIC, topic, [("cleanup.policy", SUBTRACT, "delete")], version=version)
        look("subtracted")
        change(peer, TOPIC, topic, [("cleanup.policy", SUBTRACT, "delete")], version=version)
        look("subtracted again")
        change(peer, TOPIC, topic, [("cleanup.policy", SUBTRACT, "compact")], version=version)
        look("nothing left")
        change(
            peer, TOPIC, topic, [("cleanup.policy", DELETE, None), ("compression.type", DELETE, None)], version=version
        )
        change(peer, TOPIC, topic, [("cleanup.policy", DELETE, None)], version=version)
        look("all gone")


@script("topic-config-mistakes", seconds=2, family="configs")
def mistakes(peer: Peer) -> None:
    """Refused changes, which change nothing."""
    topic = create(peer, "mistakes")
    for wrong in (
        [("no.such.config", SET, "1")],
        [("no.such.config", DELETE, None)],
        [("no.such.config", APPEND, "1")],
        [("max.message.bytes", SET, None)],
        [("max.message.bytes", SET, "")],
        [("max.message.bytes", APPEND, "1")],
        [("max.message.bytes", SUBTRACT, "1")],
        [("cleanup.policy", APPEND, None)],
        [("cleanup.policy", SUBTRACT, None)],
        [("cleanup.policy", APPEND, "nonsense")],
        [("cleanup.policy", SET, "compact,nonsense")],
        [("max.message.bytes", SET, "1000"), ("max.message.bytes", SET, "2000")],
        [("max.message.bytes", SET, "1000"), ("max.message.bytes", DELETE, None)],
        [("max.message.bytes", SET, "1000"), ("retention.ms", SET, "nonsense")],
        [("", SET, "1")],
    ):
        change(peer, TOPIC, topic, wrong)
        change(peer, TOPIC, topic, wrong, validate=True)
    change(peer, TOPIC, topic, [])
    change(peer, TOPIC, "", [("max.message.bytes", SET, "1000")])
    change(peer, TOPIC, peer.name("missing"), [("max.message.bytes", SET, "1000")])
    change(peer, TOPIC, "no/topic", [("max.message.bytes", SET, "1000")])
    for kind in (0, 1, 3, 64, 127):
        change(peer, kind, topic, [("max.message.bytes", SET, "1000")])
        describe_configs(peer, kind, topic, None)
        alter(peer, kind, topic, {})
    describe_configs(peer, TOPIC, topic, SHOWN)


@script("topic-config-validated", seconds=2, family="configs")
def validated(peer: Peer) -> None:
    """Every topic config with values at and beyond its bounds, of the wrong type, and with blanks; only validated."""
    topic = create(peer, "values")
    for name, candidates in TRIES.items():
        for value in candidates:
            change(peer, TOPIC, topic, [(name, SET, value)], validate=True)
    describe_configs(peer, TOPIC, topic, list(TRIES), synonyms=False)


@script("topic-config-values", seconds=25, slow=True, family="configs")
def wrong_values(peer: Peer) -> None:
    """The same values, set and described."""
    topic = create(peer, "values")
    for name, candidates in TRIES.items():
        for value in candidates:
            change(peer, TOPIC, topic, [(name, SET, value)])
            describe_configs(peer, TOPIC, topic, [name], synonyms=False, label=value)
        change(peer, TOPIC, topic, [(name, DELETE, None)])


@script("topic-config-together", seconds=2, family="configs")
def together(peer: Peer) -> None:
    """Values that do not go together, and resources that come twice or side by side."""
    topic, other = create(peer, "together"), create(peer, "other")
    change(peer, TOPIC, topic, [("min.compaction.lag.ms", SET, "100"), ("max.compaction.lag.ms", SET, "50")])
    change(peer, TOPIC, topic, [("local.retention.ms", SET, "100"), ("retention.ms", SET, "50")])
    change(peer, TOPIC, topic, [("local.retention.bytes", SET, "100"), ("retention.bytes", SET, "50")])
    change(peer, TOPIC, topic, [("remote.storage.enable", SET, "true"), ("cleanup.policy", SET, "compact")])

    def resource(name: str, value: str) -> dict[str, object]:
        row = {"name": "max.message.bytes", "config_operation": SET, "value": value}
        return {"resource_type": TOPIC, "resource_name": name, "configs": [row]}

    for resources in (
        [],
        [resource(topic, "1111"), resource(other, "2222")],
        [resource(topic, "3333"), resource(other, "x"), resource(peer.name("missing"), "1")],
        [resource(topic, "4444"), resource(topic, "5555")],
        [resource(topic, "6666"), resource(other, "7777"), resource(topic, "8888")],
    ):
        peer.ask("incremental_alter_configs", 1, {"resources": resources, "validate_only": False})
        if len({str(each["resource_name"]) for each in resources}) == len(resources):
            peer.ask("alter_configs", 2, {"resources": resources, "validate_only": True})
        change(peer, TOPIC, topic, [("segment.ms", SET, "1000")])
        for name in (topic, other):
            describe_configs(peer, TOPIC, name, ["max.message.bytes"])


@script("topic-config-replaced", seconds=2, family="configs")
def replaced(peer: Peer) -> None:
    """AlterConfigs replaces all that is set."""
    topic = create(peer, "replaced", max_message_bytes="4000", compression_type="lz4")
    for version in (0, 1, 2):
        describe_configs(peer, TOPIC, topic, SHOWN)
        alter(peer, TOPIC, topic, {"max.message.bytes": "3000"}, version=version, validate=True)
        alter(peer, TOPIC, topic, {"max.message.bytes": "3000", "cleanup.policy": "compact"}, version=version)
        describe_configs(peer, TOPIC, topic, SHOWN)
        alter(peer, TOPIC, topic, {"max.message.bytes": "x"}, version=version)
        alter(peer, TOPIC, topic, {"no.such.config": "x"}, version=version)
        alter(peer, TOPIC, topic, {"max.message.bytes": None}, version=version)
        alter(peer, TOPIC, peer.name("missing"), {"max.message.bytes": "1"}, version=version)
        alter(peer, TOPIC, "", {"max.message.bytes": "1"}, version=version)
        describe_configs(peer, TOPIC, topic, SHOWN)
        alter(peer, TOPIC, topic, {}, version=version)


@script("topic-config-described", seconds=2, family="configs")
def described(peer: Peer) -> None:
    """DescribeConfigs of topics over the versions: sources, synonyms, types, keys that are not there."""
    topic = create(peer, "described", max_message_bytes="4000", segment_bytes="2097152", min_insync_replicas="1")
    for version in (1, 2, 3, 4):
        for synonyms in (False, True):
            describe_configs(peer, TOPIC, topic, None, version=version, synonyms=synonyms)
        describe_configs(peer, TOPIC, topic, [], version=version)
        describe_configs(peer, TOPIC, topic, ["max.message.bytes", "no.such"], version=version)
        describe_configs(peer, TOPIC, topic, ["segment.bytes", "segment.bytes"], version=version)
        describe_configs(peer, TOPIC, peer.name("missing"), None, version=version)
        describe_configs(peer, TOPIC, "no/topic", None, version=version)
        describe_configs(peer, TOPIC, "", None, version=version)


@script("topic-config-sizes", seconds=2, family="config-effects")
def effect_on_sizes(peer: Peer) -> None:
    """max.message.bytes, as it is and after it was changed."""
    topic = create(peer, "sizes", max_message_bytes="200")
    for version in (3, 7, 8, 9, 12):
        produce(peer, topic, values("x" * 130), version=version, label="just fits")
        produce(peer, topic, values("x" * 131), version=version, label="a byte too long")
    produce(peer, topic, values("x" * 1000, codec=CODEC_GZIP), label="compressed it fits")
    change(peer, TOPIC, topic, [("max.message.bytes", SET, "201")])
    peer.until(
        lambda: produce(peer, topic, values("x" * 131)),
        lambda answer: answer["responses"][0]["partition_responses"][0]["error_code"] == 0,
    )
    produce(peer, topic, values("x" * 132), label="a byte too long")


@script("topic-config-timestamps", seconds=2, family="config-effects")
def effect_on_timestamps(peer: Peer) -> None:
    """message.timestamp.type and the limits of timestamps."""
    stamped = create(peer, "stamped", message_timestamp_type="LogAppendTime")
    for version in (3, 8, 9):
        peer.tick()
        produce(peer, stamped, values("a", "b"), version=version)
    fetch(peer, stamped, 0)
    list_offset(peer, stamped, T0, 0, -3)
    bounded = create(
        peer, "bounded", message_timestamp_before_max_ms="3600000", message_timestamp_after_max_ms="3600000"
    )
    now = peer.time()
    produce(peer, bounded, values("now", at=now))
    produce(peer, bounded, values("soon", at=peer.time(3_000_000)))
    produce(peer, bounded, values("lately", at=peer.time(-3_000_000)))
    for version in (3, 8, 9):
        produce(peer, bounded, values("too soon", at=peer.time(4_000_000)), version=version, label="too soon")
        produce(peer, bounded, values("too late", at=peer.time(-4_000_000)), version=version, label="too late")
        several = [Record(value=b"", timestamp_ms=peer.time(at)) for at in (0, 4_000_000, 0)]
        produce(peer, bounded, batch(several), version=version, label="one of three too soon")
    produce(peer, bounded, values("none", at=-1))
    fetch(peer, bounded, 0)
    change(peer, TOPIC, bounded, [("message.timestamp.type", SET, "LogAppendTime")])
    peer.until(
        lambda: produce(peer, bounded, values("whatever", at=5)),
        lambda answer: answer["responses"][0]["partition_responses"][0]["error_code"] == 0,
    )


@script("topic-config-compression", seconds=2, family="config-effects")
def effect_on_compression(peer: Peer) -> None:
    """compression.type of the topic decides what is stored, whatever the producer did."""
    codecs = {"uncompressed": 0, "gzip": CODEC_GZIP, "snappy": CODEC_SNAPPY, "lz4": CODEC_LZ4, "zstd": CODEC_ZSTD}
    for kind in ("producer", *codecs):
        topic = create(peer, f"codec-{kind}", compression_type=kind)
        for codec in (*codecs.values(),):
            produce(peer, topic, values("same", "same", "same", codec=codec), label=f"codec {codec}")
        fetch(peer, topic, 0)
    changed = create(peer, "codec-changed")
    produce(peer, changed, values("a"))
    change(peer, TOPIC, changed, [("compression.type", SET, "zstd")])
    peer.until(
        lambda: fetch(
            peer, changed, produce(peer, changed, values("b"))["responses"][0]["partition_responses"][0]["base_offset"]
        ),
        lambda answer: answer["responses"][0]["partitions"][0]["records"][0]["attributes"] == CODEC_ZSTD,
    )
