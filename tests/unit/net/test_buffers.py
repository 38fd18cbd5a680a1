"""Where received bytes lie, and how large the system's own buffers are."""

import asyncio
import socket
from mmap import mmap
from typing import Any, cast

import pytest

from penstock.config.settings import Settings
from penstock.net.connection.scratch import SCRATCH_BYTES
from penstock.net.flow_control import FlowControl
from penstock.net.listener import Listener, bind
from penstock.net.reply import Reply
from penstock.net.service import Stream
from penstock.node.kafka_door import listener_options
from penstock.node.security.door_plans import plan_doors
from penstock.observability.metrics import BrokerMetrics
from tests.support.admission import open_door
from tests.unit.net.test_connection import Client, Service, run, served


class Looking(Service):
    """Notes the memory that each request was served from, and the socket that it came from."""

    def __init__(self) -> None:
        super().__init__()
        self.memory: list[object] = []
        self.sockets: list[socket.socket] = []

    def serve(self, frame: memoryview, stream: Stream) -> Reply:
        self.memory.append(frame.obj)
        transport = cast(Any, stream)._transport
        self.sockets.append(transport.get_extra_info("socket"))
        return super().serve(frame, stream)


async def asked(client: Client, text: bytes) -> None:
    client.send(text)
    assert await client.receive() == text


@pytest.mark.feature("F-12")
def test_requests_of_all_connections_are_served_from_one_buffer_without_a_copy() -> None:
    async def scenario() -> None:
        service = Looking()
        async with served(service=service) as (_, _, connect):
            clients = [await connect() for _ in range(3)]
            for client in clients * 2:
                await asked(client, b"now")
            shared = service.memory[0]
            assert isinstance(shared, mmap)
            assert len(shared) == SCRATCH_BYTES
            assert all(memory is shared for memory in service.memory)

    run(scenario())


@pytest.mark.feature("F-12")
def test_a_request_that_does_not_fit_is_received_where_it_is_served() -> None:
    """It has memory of its own size, which nobody else has and nothing is copied to but its beginning."""

    async def scenario() -> None:
        service = Looking()
        async with served(service=service) as (_, _, connect):
            client = await connect()
            await asked(client, b"now")
            large = b"now " + bytes(2 * SCRATCH_BYTES)
            await asked(client, large)
            await asked(client, b"now")
            first, own, last = service.memory
            assert first is last is not own
            assert isinstance(own, bytearray)
            assert len(own) == len(large)

    run(scenario())


@pytest.mark.feature("F-12")
@pytest.mark.parametrize(("send", "receive"), [(65_536, 32_768), (0, 0)])
def test_sockets_are_tuned_as_the_settings_say(send: int, receive: int) -> None:
    """Nagle holds no answer back; buffers are as large as asked for (Linux counts them twice), or as usual."""

    async def scenario() -> None:
        settings = Settings.model_validate(
            {"kafka": {"host": "127.0.0.1", "port": 0, "send_buffer_bytes": send, "receive_buffer_bytes": receive}}
        )
        options, service = listener_options(settings, plan_doors(settings).kafka[0]), Looking()
        listener = Listener(options, service, FlowControl(1 << 20), BrokerMetrics(), open_door())
        await listener.start(bind(options))
        client = Client(*await asyncio.open_connection("127.0.0.1", listener.port))
        await asked(client, b"now")
        (found,) = service.sockets
        assert found.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        assert found.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        for option, wanted in ((socket.SO_SNDBUF, send), (socket.SO_RCVBUF, receive)):
            size = found.getsockopt(socket.SOL_SOCKET, option)
            assert size == 2 * wanted if wanted else size > 0
        client.writer.close()
        listener.stop_accepting()
        await listener.drain(0.1)

    run(scenario())
