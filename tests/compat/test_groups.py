"""Consumer groups of real clients: every assignor, members that come, leave and die, static members."""

from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from tests.compat.clients.confluent import ConfluentClient
from tests.compat.clients.message import Message
from tests.compat.members import SESSION_TIMEOUT_MS, GroupMember, Membership
from tests.support.broker_process import BrokerProcess
from tests.support.group_client import committed
from tests.support.raw_client import RawClient, unique_name
from tests.support.waiting import DeadlinePassed, wait_until

pytestmark = [pytest.mark.feature("K-05", "K-06", "F-02"), pytest.mark.timeout(180)]

PARTITIONS = 6
ALL = set(range(PARTITIONS))
JOINED_WITHIN_S = 60.0

CASES = [
    ("confluent-kafka", "range"),
    ("confluent-kafka", "roundrobin"),
    ("confluent-kafka", "cooperative-sticky"),
    ("aiokafka", "range"),
    ("aiokafka", "roundrobin"),
    ("aiokafka", "sticky"),
    ("kafka-python", "range"),
    ("kafka-python", "roundrobin"),
    ("kafka-python", "sticky"),
    ("kafka-python", "cooperative-sticky"),
    ("kafkajs", "roundrobin"),
    ("java", "range"),
    ("java", "roundrobin"),
    ("java", "sticky"),
    ("java", "cooperative-sticky"),
]

Start = Callable[..., GroupMember]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start members; those still running at the end are killed."""
    started: list[GroupMember] = []

    def start_one(kind: str, membership: Membership) -> GroupMember:
        started.append(GroupMember(kind, membership))
        return started[-1]

    yield start_one
    for member in started:
        if member.running:
            member.kill9()


class Scene:
    """A topic with six partitions and a group that reads it."""

    def __init__(self, broker: BrokerProcess, client: RawClient) -> None:
        self.broker = broker
        self.client = client
        self.topic = client.create_topic(partitions=PARTITIONS)
        self.group = unique_name("group")
        self._produced = 0

    def membership(
        self, assignor: str, *, instance: str | None = None, session_timeout_ms: int = SESSION_TIMEOUT_MS
    ) -> Membership:
        return Membership(
            bootstrap=self.broker.bootstrap,
            group=self.group,
            topic=self.topic,
            assignor=assignor,
            instance=instance,
            session_timeout_ms=session_timeout_ms,
        )

    def produce(self, count: int) -> list[str]:
        numbers = range(self._produced, self._produced + count)
        self._produced += count
        messages = [Message(value=b"%d" % number, partition=number % PARTITIONS) for number in numbers]
        ConfluentClient().produce(self.broker.bootstrap, self.topic, messages)
        return [str(number) for number in numbers]

    def state(self) -> str:
        (described,) = self.client.call("describe_groups", 5, groups=[self.group]).groups
        return str(described.group_state)

    def wait_until_shared(self, *members: GroupMember) -> None:
        """Every partition belongs to exactly one of the members, and each member has a fair share."""
        share = PARTITIONS // len(members)

        def shared() -> bool:
            for member in members:
                assert member.running, f"{member.kind} ended\n{member.errors()}"
            owned = Counter(partition for member in members for partition in member.assignment)
            fair = all(len(member.assignment) in (share, share + 1) for member in members)
            return set(owned) == ALL and set(owned.values()) == {1} and fair and self.state() == "Stable"

        try:
            wait_until(shared, what=f"{len(members)} members share all partitions", within_s=JOINED_WITHIN_S)
        except DeadlinePassed as error:
            seen = [(member.kind, sorted(member.assignment), member.errors()[-2000:]) for member in members]
            raise AssertionError(f"{error}; the group is {self.state()}, its members {seen}") from error

    def wait_until_read(self, values: list[str], *members: GroupMember) -> None:
        def read() -> bool:
            return set(values) <= {value for member in members for value in member.values}

        wait_until(read, what=f"{len(values)} messages are read", within_s=JOINED_WITHIN_S)

    def wait_until_committed(self) -> None:
        def all_committed() -> bool:
            return all(
                committed(self.client, self.group, self.topic, partition).committed_offset
                == self.client.log_end(self.topic, partition)
                for partition in range(PARTITIONS)
            )

        wait_until(all_committed, what="everything is committed", within_s=JOINED_WITHIN_S)


@pytest.fixture
def scene(broker: BrokerProcess, client: RawClient) -> Scene:
    return Scene(broker, client)


@pytest.mark.parametrize(("kind", "assignor"), CASES, ids=[" ".join(case) for case in CASES])
def test_members_come_and_go(scene: Scene, start: Start, kind: str, assignor: str) -> None:
    """One member has all, two share; one is killed and the other takes over; nothing is lost, all is committed."""
    first = start(kind, scene.membership(assignor))
    scene.wait_until_shared(first)
    second = start(kind, scene.membership(assignor))
    scene.wait_until_shared(first, second)
    scene.wait_until_read(scene.produce(120), first, second)
    assert first.values
    assert second.values

    second.kill9()
    scene.wait_until_shared(first)
    scene.wait_until_read(scene.produce(60), first)
    scene.wait_until_committed()

    first.stop()
    wait_until(lambda: scene.state() == "Empty", what="the group is empty")


@pytest.mark.parametrize("kind", ["confluent-kafka", "aiokafka", "kafka-python", "kafkajs", "java"])
def test_a_member_that_leaves_gives_its_share_back_at_once(scene: Scene, start: Start, kind: str) -> None:
    """A member that ends in order leaves the group; the others need not wait for its session to expire."""
    membership = scene.membership("roundrobin", session_timeout_ms=4 * 60_000)
    first, second = (start(kind, membership) for _ in range(2))
    scene.wait_until_shared(first, second)
    second.stop()
    scene.wait_until_shared(first)


def test_clients_of_all_kinds_in_one_group(scene: Scene, start: Start) -> None:
    """Members of four different libraries share one group, since the protocol between them is Kafka's own."""
    kinds = ["confluent-kafka", "aiokafka", "kafka-python", "java"]
    members = [start(kind, scene.membership("range")) for kind in kinds]
    scene.wait_until_shared(*members)
    scene.wait_until_read(scene.produce(120), *members)
    members[0].kill9()
    scene.wait_until_shared(*members[1:])
    scene.wait_until_read(scene.produce(60), *members[1:])


@pytest.mark.parametrize("kind", ["confluent-kafka", "aiokafka", "kafka-python", "java"])
def test_a_static_member_comes_back_to_its_share(scene: Scene, start: Start, kind: str) -> None:
    """A static member that is killed and starts again within its session has its share back without a rebalance."""
    memberships = [scene.membership("range", instance=f"instance-{number}") for number in range(2)]
    first, second = (start(kind, membership) for membership in memberships)
    scene.wait_until_shared(first, second)
    share, rebalances = set(second.assignment), len(first.assignments_seen)
    second.kill9()
    again = start(kind, memberships[1])
    wait_until(lambda: again.assignment == share, what="the share is back", within_s=JOINED_WITHIN_S)
    scene.wait_until_read(scene.produce(60), first, again)
    if kind != "kafka-python":  # it joins again of its own accord when its metadata are refreshed
        assert len(first.assignments_seen) == rebalances
