"""Tokens and their users, whose commands run one after the other."""

import asyncio
from collections.abc import Callable, Iterator

import pytest

from penstock.cluster.controller.users_frontend import Deletion, Upsertion
from penstock.model.errors import ErrorCode, KafkaError
from penstock.net.http.login.proof import PasswordProof
from penstock.security.principal import Principal
from penstock.security.users.credential import ScramMechanism
from tests.support.admin_broker import AdminBroker

ALICE = Principal("User", "alice")
SHA_256 = ScramMechanism.SCRAM_SHA_256


@pytest.fixture
def node() -> Iterator[AdminBroker]:
    with AdminBroker() as node:
        node.run(node.controller.users.alter([], [Upsertion("alice", SHA_256, 4096, b"salt", bytes(32))]))
        yield node


async def create(node: AdminBroker, may_ask: Callable[[], bool]) -> object:
    return await node.controller.tokens.create(ALICE, "kept", 0, 1_000, may_ask)


def test_the_tokens_of_a_user_end_with_it(node: AdminBroker) -> None:
    node.run(create(node, lambda: True))
    assert len(node.store.tokens.all()) == 1
    node.run(node.controller.users.alter([Deletion("alice", SHA_256)], []))
    assert not list(node.controller.tokens.table)
    assert not node.store.tokens.all()


def test_a_token_that_waits_for_the_end_of_its_user_is_not_made(node: AdminBroker) -> None:
    proof = PasswordProof.of(node.controller.users.table, "alice")

    async def scenario() -> object:
        removal = asyncio.ensure_future(node.controller.users.alter([Deletion("alice", SHA_256)], []))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert proof.holds()  # the command has begun, and has not ended
        (refusal,) = await asyncio.gather(create(node, proof.holds), return_exceptions=True)
        assert await removal == {"alice": None}
        return refusal

    refusal = node.run(scenario())
    assert isinstance(refusal, KafkaError)
    assert refusal.code is ErrorCode.SASL_AUTHENTICATION_FAILED
    assert not list(node.controller.tokens.table)
    assert not node.store.tokens.all()
