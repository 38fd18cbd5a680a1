"""One principal cannot use up what all of them share: transactional ids, groups, push subscriptions and producers.

Every client here comes from an address of its own on the loopback network, which is its user; who may alter the
cluster is not bounded.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from penstock.broker.shares import SEARCH_NAMES_MIN, SEARCH_SECONDS, Share
from penstock.config.settings import Settings
from penstock.model.errors import ErrorCode, KafkaError
from penstock.node.node import Node
from penstock.protocol.push import messages as m
from penstock.protocol.push.frames import FrameType
from penstock.security.access import Access
from penstock.security.authenticator import Credentials
from penstock.security.authorizer import AllowAll
from penstock.security.principal import ANONYMOUS, Principal
from penstock.security.resources import Operation, ResourceType
from penstock.security.session import Session
from tests.gate.test_push_principals import ask
from tests.support.raw_client import RawClient

MOST = 6
SHARE = MOST // 2
ALICE, BOB, ADMIN = "127.0.0.2", "127.0.0.3", "127.0.0.4"
TOPIC = "t"
USER = Principal("User", ALICE)


class ByAddress:
    """Every address is a user, who may do everything but alter the cluster; the administrator may do that, too."""

    version = 0

    def authenticate(self, session: Session, credentials: Credentials) -> Session:
        return session.with_principal(Principal("User", session.host))

    def admit(self, session: Session, request: str) -> None: ...

    def subscribe(self, listener: Callable[[], None]) -> None: ...

    def allows(self, session: Session, operation: Operation, kind: ResourceType, name: str) -> bool:
        return kind is not ResourceType.CLUSTER or session.principal.name == ADMIN

    def allows_any(self, session: Session, operation: Operation, kind: ResourceType) -> bool:
        return True


@contextlib.asynccontextmanager
async def running(data_dir: Path, rules: ByAddress | None) -> AsyncIterator[Node]:
    settings = {
        "node": {"data_dir": data_dir},
        "kafka": {"port": 0},
        "push": {"port": 0, "subscriptions_max": MOST, "producers_max": MOST},
        "groups": {"groups_max": MOST, "initial_rebalance_delay_ms": 0},
        "transactions": {"ids_max": MOST},
        "http": {"enabled": False},
    }
    access = Access(ByAddress(), rules or AllowAll())
    node = Node(Settings.model_validate(settings), build_access=lambda _: access)
    await node.start()
    try:
        yield node
    finally:
        await node.stop()


def transactional_ids(port: int, user: str) -> list[int]:
    with RawClient("127.0.0.1", port, source=user) as client:
        return [
            int(
                client.call(
                    "init_producer_id", 4, transactional_id=f"{user}-{number}", transaction_timeout=9
                ).error_code
            )
            for number in range(MOST)
        ]


def commits(port: int, user: str) -> list[int]:
    with RawClient("127.0.0.1", port, source=user) as client:
        codes = []
        for number in range(MOST):
            row = {"partition_index": 0, "committed_offset": 1, "committed_leader_epoch": -1, "committed_metadata": ""}
            answer = client.call(
                "offset_commit",
                8,
                group_id=f"{user}-{number}",
                generation_id_or_member_epoch=-1,
                topics=[{"name": TOPIC, "partitions": [row]}],
            )
            codes.append(int(answer.topics[0].partitions[0].error_code))
        return codes


def joins(port: int, user: str) -> list[int]:
    with RawClient("127.0.0.1", port, source=user) as client:
        codes = []
        for number in range(MOST):
            answer = client.call(
                "join_group",
                3,
                group_id=f"{user}-{number}",
                session_timeout=30_000,
                rebalance_timeout=30_000,
                protocol_type="consumer",
                protocols=[{"name": "range", "metadata": b"x"}],
            )
            codes.append(int(answer.error_code))
        return codes


async def subscriptions(port: int, user: str) -> list[bool]:
    wanted = [m.CreateSubscription(f"{user}-{number}", TOPIC) for number in range(MOST)]
    return [frame.type is not FrameType.ERROR for frame in await ask(port, user, *wanted)]


async def producers(port: int, user: str) -> list[bool]:
    wanted = [m.Publish(f"c{number}", 1, 0, TOPIC, 0, None, b"x") for number in range(MOST)]
    return [frame.type is not FrameType.ERROR for frame in await ask(port, user, *wanted)]


def test_half_of_each_bound(tmp_path: Path) -> None:
    """What one user has used up, the next still has; and what is known goes on."""

    async def run() -> None:
        async with running(tmp_path, ByAddress()) as node:
            kafka, push = node.kafka_port, node.push_port
            await ask(push, ADMIN, m.CreateTopic(TOPIC, 1))
            for user in (ALICE, BOB):
                for _ in range(2):  # the second time they are known
                    codes = await asyncio.to_thread(transactional_ids, kafka, user)
                    assert codes == [0] * SHARE + [ErrorCode.POLICY_VIOLATION] * (MOST - SHARE)
                    assert await subscriptions(push, user) == [True] * SHARE + [False] * (MOST - SHARE)
                    assert await producers(push, user) == [True] * SHARE + [False] * (MOST - SHARE)

    asyncio.run(run())


@pytest.mark.parametrize("make", [commits, joins])
def test_half_of_the_groups(tmp_path: Path, make: Callable[[int, str], list[int]]) -> None:
    async def run() -> None:
        async with running(tmp_path, ByAddress()) as node:
            await ask(node.push_port, ADMIN, m.CreateTopic(TOPIC, 1))
            for user in (ALICE, BOB):
                codes = await asyncio.to_thread(make, node.kafka_port, user)
                assert codes == [0] * SHARE + [ErrorCode.GROUP_MAX_SIZE_REACHED] * (MOST - SHARE)

    asyncio.run(run())


@pytest.mark.parametrize(("rules", "user"), [(ByAddress(), ADMIN), (None, ALICE)], ids=["administrator", "no rules"])
def test_who_may_have_everything(tmp_path: Path, rules: ByAddress | None, user: str) -> None:
    async def run() -> None:
        async with running(tmp_path, rules) as node:
            await ask(node.push_port, user, m.CreateTopic(TOPIC, 1))
            assert await asyncio.to_thread(transactional_ids, node.kafka_port, user) == [0] * MOST
            assert await asyncio.to_thread(commits, node.kafka_port, user) == [0] * MOST
            assert all(await producers(node.push_port, user))

    asyncio.run(run())


class World:
    """A share of three names in a set of those that exist."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.now = 0.0
        access = Access(ByAddress(), ByAddress())
        self.share = Share(access, MOST, self.names.__contains__, self.refusal, lambda: self.now)

    def refusal(self, most: int) -> KafkaError:
        return KafkaError(ErrorCode.POLICY_VIOLATION, str(most))

    def make(self, name: str, principal: Principal = USER) -> bool:
        try:
            with self.share.taken(Session("", ALICE, principal=principal), name):
                self.names.add(name)
        except KafkaError:
            return False
        return True


def test_removed_names_give_room() -> None:
    world = World()
    assert [world.make(name) for name in "abcd"] == [True, True, True, False]
    world.names.remove("b")
    world.now += SEARCH_SECONDS
    assert [world.make(name) for name in "dea"] == [True, False, True]


def test_names_that_were_not_made_do_not_count() -> None:
    world = World()
    session = Session("", ALICE, principal=USER)
    for number in range(MOST):
        with pytest.raises(ValueError, match="no"), world.share.taken(session, str(number)):
            raise ValueError("no")
    assert [world.make(name) for name in "abcd"] == [True, True, True, False]


def test_names_of_others_and_of_nobody_do_not_count() -> None:
    world = World()
    world.names |= {"loaded-1", "loaded-2", "loaded-3"}
    assert [world.make(name) for name in ("loaded-1", "a", "b", "c", "d")] == [True, True, True, True, False]
    assert all(world.make(str(number), ANONYMOUS) for number in range(SEARCH_NAMES_MIN))
    assert [world.make(name, Principal("User", BOB)) for name in "efgh"] == [True, True, True, False]
