"""Kafka's own command-line tools, as an administrator uses them."""

import json
import re
from functools import partial
from pathlib import Path

import pytest

from tests.compat.clients.confluent import ConfluentClient
from tests.compat.clients.java import run_tool
from tests.compat.clients.message import Message
from tests.support.broker_process import BrokerProcess
from tests.support.fixtures import running
from tests.support.group_client import commit, committed
from tests.support.penstock_process import PenstockProcess
from tests.support.raw_client import RawClient, unique_name
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("F-02", "K-13")


class Tools:
    """The tools with the broker's address filled in."""

    def __init__(self, broker: BrokerProcess) -> None:
        self.broker = broker

    def run(self, name: str, *arguments: str, code: int | None = 0, stdin: str = "") -> str:
        address = ("--bootstrap-server", self.broker.bootstrap)
        return run_tool(name, *address, *arguments, code=code, stdin=stdin)

    def topics(self, *arguments: str, code: int | None = 0) -> str:
        return self.run("TopicCommand", *arguments, code=code)

    def groups(self, *arguments: str, code: int | None = 0) -> str:
        return self.run("consumer.group.ConsumerGroupCommand", *arguments, code=code)

    def configs(self, *arguments: str, code: int | None = 0) -> str:
        return self.run("kafka.admin.ConfigCommand", *arguments, code=code)


@pytest.fixture
def tools(broker: BrokerProcess) -> Tools:
    return Tools(broker)


def fill(broker: BrokerProcess, topic: str, count: int = 10) -> None:
    messages = [Message(value=b"%d" % number) for number in range(count)]
    ConfluentClient().produce(broker.bootstrap, topic, messages)


def test_topics(tools: Tools, client: RawClient) -> None:
    """TopicCommand creates, lists, describes, alters and deletes."""
    name = unique_name()
    created = tools.topics(
        "--create", "--topic", name, "--partitions", "2", "--replication-factor", "1",
        "--config", "retention.ms=5000", "--config", "cleanup.policy=compact",
    )  # fmt: skip
    assert f"Created topic {name}" in created
    client.wait_for_topic(name, 2)
    assert name in tools.topics("--list").split()
    described = tools.topics("--describe", "--topic", name)
    assert re.search(
        r"TopicId: \S+\s+PartitionCount: 2\s+ReplicationFactor: 1\s+Configs: .*retention.ms=5000", described
    )
    assert len(re.findall(r"Partition: \d\s+Leader: \d+\s+Replicas: \d+\s+Isr: \d+", described)) == 2
    tools.topics("--alter", "--topic", name, "--partitions", "3")
    client.wait_for_topic(name, 3)
    again = tools.topics("--create", "--topic", name, code=1)
    assert "TopicExistsException" in again
    tools.topics("--create", "--if-not-exists", "--topic", name)
    tools.topics("--delete", "--topic", name)
    wait_until(lambda: not client.metadata(name).topics[0].partitions, what="the topic is gone")
    assert "does not exist" in tools.topics("--describe", "--topic", name, code=1)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--topic", "a/b"], "InvalidTopicException"),
        (["--topic", "x" * 250], "InvalidTopicException"),
        (["--topic", "t", "--config", "segment.bytes=1"], "Invalid"),
        (["--topic", "t", "--config", "no.such.config=1"], "Unknown topic config"),
        (["--topic", "t", "--replica-assignment", "77"], "InvalidReplicaAssignmentException"),
    ],
)
def test_topics_that_cannot_be(tools: Tools, arguments: list[str], error: str) -> None:
    """Requests that Kafka refuses are refused with an exception that names the reason."""
    assert error in tools.topics("--create", *arguments, code=1)


def test_configs(tools: Tools, client: RawClient, topic: str) -> None:
    """ConfigCommand sets, describes and deletes configs of a topic, and describes a broker."""
    entity = ("--entity-type", "topics", "--entity-name", topic)
    tools.configs("--alter", *entity, "--add-config", "retention.ms=5000,cleanup.policy=[compact,delete]")
    assert "retention.ms=5000" in tools.configs("--describe", *entity)
    assert "cleanup.policy=compact,delete" in tools.configs("--describe", *entity)
    everything = tools.configs("--describe", "--all", *entity)
    assert "segment.bytes=1073741824" in everything
    tools.configs("--alter", *entity, "--delete-config", "retention.ms")
    assert "retention.ms=5000" not in tools.configs("--describe", *entity)
    bad = tools.configs("--alter", *entity, "--add-config", "retention.ms=soon", code=1)
    assert "InvalidConfigurationException" in bad
    (node,) = client.metadata().brokers
    described = tools.configs("--describe", "--all", "--entity-type", "brokers", "--entity-name", str(node.node_id))
    assert "num.partitions=" in described


def test_groups(tools: Tools, broker: BrokerProcess, client: RawClient, topic: str) -> None:
    """ConsumerGroupCommand lists, describes with lag, resets, deletes offsets and groups."""
    fill(broker, topic)
    group = unique_name("group")
    commit(client, group, topic, 4)
    assert group in tools.groups("--list").split()
    assert re.search(rf"{group}\s+Empty", tools.groups("--list", "--state"))
    row = re.search(rf"{group}\s+{topic}\s+0\s+\S*\s*4\s+10\s+6", tools.groups("--describe", "--group", group))
    assert row, "partition, offset 4, end 10, lag 6"
    assert "Empty" in tools.groups("--describe", "--group", group, "--state")
    planned = tools.groups("--group", group, "--topic", topic, "--reset-offsets", "--to-earliest", "--dry-run")
    assert re.search(rf"{group}\s+{topic}\s+0\s+0", planned)
    assert committed(client, group, topic).committed_offset == 4
    tools.groups("--group", group, "--topic", topic, "--reset-offsets", "--shift-by", "2", "--execute")
    assert committed(client, group, topic).committed_offset == 6
    tools.groups("--group", group, "--delete-offsets", "--topic", topic)
    assert committed(client, group, topic).committed_offset == -1
    commit(client, group, topic, 1)
    assert "was successful" in tools.groups("--delete", "--group", group)
    assert committed(client, group, topic).committed_offset == -1
    assert "GroupIdNotFoundException" in tools.groups("--delete", "--group", group, code=None)


def test_delete_records(tools: Tools, broker: BrokerProcess, client: RawClient, topic: str, tmp_path: Path) -> None:
    """DeleteRecordsCommand moves the log start."""
    fill(broker, topic)
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"version": 1, "partitions": [{"topic": topic, "partition": 0, "offset": 7}]}))
    assert "low_watermark: 7" in tools.run("DeleteRecordsCommand", "--offset-json-file", str(plan))
    assert client.log_start(topic) == 7


def test_performance_tools(tools: Tools, client: RawClient, topic: str, broker: BrokerProcess) -> None:
    """ProducerPerformance writes and ConsumerPerformance reads what it is told to."""
    output = run_tool(
        "ProducerPerformance", "--topic", topic, "--num-records", "20000", "--record-size", "100",
        "--throughput", "-1", "--bootstrap-server", broker.bootstrap, "--command-property", "compression.type=lz4",
    )  # fmt: skip
    assert "20000 records sent" in output
    assert client.log_end(topic) == 20_000
    read = tools.run("ConsumerPerformance", "--topic", topic, "--num-records", "20000", "--timeout", "30000")
    fields = [field.strip() for field in read.strip().splitlines()[-1].split(",")]
    assert int(fields[4]) >= 20_000


def test_verifiable_tools(tools: Tools, client: RawClient, topic: str) -> None:
    """VerifiableProducer and VerifiableConsumer agree on what was acknowledged and read."""
    written = tools.run("VerifiableProducer", "--topic", topic, "--max-messages", "500")
    events = [json.loads(line) for line in written.splitlines()]
    assert sum(event["name"] == "producer_send_success" for event in events) == 500
    read = tools.run(
        "VerifiableConsumer", "--topic", topic, "--group-id", unique_name("group"), "--max-messages", "500",
        "--reset-policy", "earliest", "--verbose",
    )  # fmt: skip
    values = [event["value"] for event in map(json.loads, read.splitlines()) if event["name"] == "record_data"]
    assert values == [str(number) for number in range(500)]


def test_console_consumer_in_a_group(tools: Tools, broker: BrokerProcess, client: RawClient, topic: str) -> None:
    """ConsoleConsumer with a group reads from where the group was."""
    fill(broker, topic)
    group = unique_name("group")
    commit(client, group, topic, 6)
    read = tools.run(
        "consumer.ConsoleConsumer", "--topic", topic, "--group", group, "--max-messages", "4", "--timeout-ms", "30000"
    )
    assert read.split() == ["6", "7", "8", "9"]
    assert committed(client, group, topic).committed_offset == 10


def test_api_versions(tools: Tools, broker: BrokerProcess, on_penstock: bool) -> None:
    """BrokerApiVersionsCommand reads the table of APIs and finds every one usable."""
    output = tools.run("BrokerApiVersionsCommand")
    assert f"{broker.bootstrap} (id: " in output
    assert re.search(r"Produce\(0\): 0 to 13 \[usable: 13\]", output)
    assert re.search(r"Fetch\(1\): 4 to 18 \[usable: 18\]", output)
    if on_penstock:
        assert re.search(r"EndTxn\(26\): 0 to 5 \[usable: 5\]", output)


def test_log_dirs(tools: Tools, broker: BrokerProcess, topic: str) -> None:
    """LogDirsCommand tells sizes by partition."""
    fill(broker, topic)
    output = tools.run("LogDirsCommand", "--describe", "--topic-list", topic)
    described = json.loads(next(line for line in output.splitlines() if line.startswith("{")))
    (directory,) = described["brokers"][0]["logDirs"]
    assert directory["error"] is None
    (partition,) = directory["partitions"]
    assert partition["partition"] == f"{topic}-0"
    assert partition["size"] > 0


def test_cluster_and_features(tools: Tools, client: RawClient) -> None:
    """ClusterTool tells the cluster id; FeatureCommand describes without an error."""
    cluster_id = client.metadata().cluster_id
    output = run_tool("ClusterTool", "cluster-id", "--bootstrap-server", tools.broker.bootstrap)
    assert cluster_id in output
    tools.run("FeatureCommand", "describe")


def test_leader_election_is_not_needed(tools: Tools, topic: str) -> None:
    """LeaderElectionCommand finds the preferred leader leading already."""
    output = tools.run(
        "LeaderElectionCommand", "--election-type", "preferred", "--topic", topic, "--partition", "0", code=None
    )
    assert "Valid replica already elected" in output


def test_metadata_quorum(tools: Tools, client: RawClient) -> None:
    """MetadataQuorumCommand names this node as leader and only voter, with no lag."""
    (node,) = client.metadata().brokers
    status = run_tool("MetadataQuorumCommand", "--bootstrap-server", tools.broker.bootstrap, "describe", "--status")
    assert re.search(rf"LeaderId:\s+{node.node_id}\n", status)
    assert re.search(r"MaxFollowerLag:\s+0\n", status)
    assert re.search(rf'CurrentVoters:\s+\[{{"id": {node.node_id}, "endpoints": \["\w+://\S+:\d+"\]}}\]', status)
    replication = tools.run("MetadataQuorumCommand", "describe", "--replication")
    assert re.search(rf"{node.node_id}\s+A{{22}}\s+\d+\s+0\s+\d+\s+\d+\s+Leader", replication)


def test_replicas_are_moved_between_directories(
    tools: Tools, client: RawClient, topic: str, tmp_path: Path, broker: BrokerProcess
) -> None:
    """ReassignPartitionsCommand with log_dirs: the directory that there is, and one that there is not."""
    (node,) = client.metadata().brokers
    (here,) = client.call("describe_log_dirs", 4, topics=[]).results

    def plan(directory: str) -> str:
        move = {"topic": topic, "partition": 0, "replicas": [node.node_id], "log_dirs": [directory]}
        file = tmp_path / "plan.json"
        file.write_text(json.dumps({"version": 1, "partitions": [move]}))
        return str(file)

    command = ("reassign.ReassignPartitionsCommand", "--reassignment-json-file")
    done = tools.run(*command, plan(here.log_dir), "--execute")
    assert f"Successfully started moving log directory to {here.log_dir} for replica {topic}-0" in done
    checked = tools.run(*command, plan(here.log_dir), "--verify")
    assert f"Reassignment of partition {topic}-0 is completed." in checked
    elsewhere = tools.run(*command, plan("/nowhere"), "--verify")
    assert f"Partition {topic}-0" in elsewhere
    assert "/nowhere" in elsewhere


@pytest.mark.feature("F-05")
def test_rules(tmp_path: Path) -> None:
    """AclCommand (kafka-acls.sh) adds, lists and removes rules, and its rules hold."""
    settings = "acl:\n  enabled: true\n  super_users: User:ANONYMOUS\n"
    process = PenstockProcess(tmp_path, settings)
    for _ in running(process):
        acls = partial(Tools(process).run, "AclCommand")
        producer = ("--producer", "--allow-principal", "User:shop", "--topic", "orders", "--transactional-id", "x")
        added = acls("--add", *producer)
        assert "(principal=User:shop, host=*, operation=WRITE, permissionType=ALLOW)" in added
        prefixed = ("--group", "team-", "--resource-pattern-type", "prefixed")
        acls("--add", "--deny-principal", "User:*", "--deny-host", "10.0.0.7", "--operation", "Read", *prefixed)
        listed = acls("--list")
        assert len(re.findall(r"principal=User:shop, host=\*, operation=\w+, permissionType=ALLOW", listed)) == 5
        denied = (
            r"patternType=PREFIXED\)`: *\s+\(principal=User:\*, host=10.0.0.7, operation=READ, permissionType=DENY\)"
        )
        assert re.search(denied, listed), listed
        matched = acls("--list", "--group", "team-a", "--resource-pattern-type", "match")
        assert "name=team-, patternType=PREFIXED" in matched
        acls("--remove", "--force", *producer)
        left = acls("--list")
        assert "User:shop" not in left
        assert "team-" in left
