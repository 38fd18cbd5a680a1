"""Two principals of the push door with one client id: neither can end the epoch of the other."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from penstock.config.settings import Settings
from penstock.model.errors import ErrorCode
from penstock.node.node import Node
from penstock.protocol.push import messages as m
from penstock.protocol.push.frames import Frame, FrameSplitter
from penstock.security.access import Access
from penstock.security.authenticator import Credentials
from penstock.security.principal import Principal
from penstock.security.session import Session

TOPIC = "t"


class ByAddress:
    """An authenticator for which every address is a user."""

    def authenticate(self, session: Session, credentials: Credentials) -> Session:
        return session.with_principal(Principal("User", session.host))

    def admit(self, session: Session, request: str) -> None: ...


@contextlib.asynccontextmanager
async def running(data_dir: Path) -> AsyncIterator[int]:
    node = Node(
        Settings.model_validate(
            {
                "node": {"data_dir": data_dir},
                "kafka": {"port": 0},
                "push": {"host": "0.0.0.0", "port": 0},
                "security": {"insecure": True},
                "http": {"enabled": False},
            }
        ),
        build_access=lambda _: Access(ByAddress()),
    )
    await node.start()
    try:
        yield node.push_port
    finally:
        await node.stop()


async def ask(port: int, address: str, *messages: m.CreateTopic | m.CreateSubscription | m.Publish) -> list[Frame]:
    """The answers to messages of a client at one of the addresses of this machine."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0))
    splitter, answers = FrameSplitter(), list[Frame]()
    try:
        for number, message in enumerate(messages, 1):
            writer.write(m.encode(message, number))
            while len(answers) < number:
                data = await asyncio.wait_for(reader.read(65_536), 20)
                assert data, "the connection was closed"
                answers += splitter.feed(data)
    finally:
        writer.close()
    return answers


def publish(epoch: int, sequence: int = 0) -> m.Publish:
    return m.Publish("till-1", epoch, sequence, TOPIC, 0, None, b"x")


def test_a_higher_epoch_of_another_principal_fences_nobody(tmp_path: Path) -> None:
    async def run() -> None:
        async with running(tmp_path / "data") as port:
            _, first = await ask(port, "127.0.0.1", m.CreateTopic(TOPIC, 1), publish(5))
            assert isinstance(m.decode(first), m.PublishAck)
            (foreign,) = await ask(port, "127.0.0.2", publish(30_000))
            assert isinstance(m.decode(foreign), m.PublishAck)
            (second,) = await ask(port, "127.0.0.1", publish(5, 1))
            assert isinstance(m.decode(second), m.PublishAck)
        async with running(tmp_path / "data") as port:
            (again, over) = await ask(port, "127.0.0.1", publish(5, 1), publish(4))
            assert m.decode(again) == m.decode(second)
            refused = m.decode(over)
            assert isinstance(refused, m.Error)
            assert refused.code == ErrorCode.INVALID_PRODUCER_EPOCH

    asyncio.run(run())
