"""AsyncBrokerClient against a real broker."""

import asyncio

import pytest

from penstock import AsyncBrokerClient, Message
from penstock.client.push.errors import ClientClosed, NotConnected, RequestTimeout, UnknownTopic
from tests.support.broker_process import free_port
from tests.support.penstock_process import PenstockProcess
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("Q-01")


async def until(count: int, found: list[Message]) -> None:
    await asyncio.to_thread(wait_until, lambda: len(found) >= count, what=f"{count} messages")


def test_many_messages_are_under_way_at_once(node: PenstockProcess, name: str) -> None:
    async def scenario() -> None:
        async with AsyncBrokerClient(node.host, node.port) as client:
            await client.create_topic(name, partitions=2)
            stored = await asyncio.gather(*(client.publish(name, str(n), key=str(n % 7)) for n in range(500)))
            assert len({(one.partition, one.offset) for one in stored}) == 500
            found: list[Message] = []

            async def handler(message: Message) -> None:
                await asyncio.sleep(0)
                found.append(message)

            await client.create_subscription("of-" + name, name)
            await client.subscribe_to_subscription("of-" + name, handler)
            await until(500, found)
            for key in range(7):
                own = [int(message.text) for message in found if message.key == str(key).encode()]
                assert own == sorted(own)
            await client.unsubscribe_from_subscription("of-" + name)
            await client.delete_subscription("of-" + name)

    asyncio.run(scenario())


def test_plain_functions_are_handlers_too_and_what_fails_comes_again(node: PenstockProcess, name: str) -> None:
    async def scenario() -> None:
        async with AsyncBrokerClient(node.host, node.port) as client:
            await client.create_topic(name)
            found: list[Message] = []

            def handler(message: Message) -> None:
                found.append(message)
                if message.delivery_count == 1:
                    raise RuntimeError("not this time")

            subscription = await client.subscribe(name, handler, "of-" + name)
            assert subscription == "of-" + name
            assert client.is_subscribed(subscription)
            await client.publish_text(name, "once more", number=1)
            await until(2, found)
            assert [message.delivery_count for message in found] == [1, 2]

    asyncio.run(scenario())


def test_errors(node: PenstockProcess, name: str) -> None:
    async def scenario() -> None:
        client = AsyncBrokerClient(node.host, node.port)
        with pytest.raises(NotConnected, match=r"call connect\(\) first"):
            await client.publish_text(name, "x")
        async with client:
            with pytest.raises(UnknownTopic, match=name):
                await client.publish_text(name, "x")
        with pytest.raises(ClientClosed):
            await client.create_topic(name)
        with pytest.raises(NotConnected, match="no broker at"):
            await AsyncBrokerClient(node.host, free_port()).connect()

    asyncio.run(scenario())


def test_a_broker_that_does_not_answer_is_a_timeout() -> None:
    async def scenario() -> None:
        connected = asyncio.Event()

        async def silent(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connected.set()
            await asyncio.sleep(30)
            writer.close()

        server = await asyncio.start_server(silent, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        client = AsyncBrokerClient("127.0.0.1", port, request_timeout=0.2)
        await client.connect()
        with pytest.raises(RequestTimeout, match=r"no answer within 0\.2 s"):
            await client.create_topic("t")
        assert connected.is_set()
        await client.disconnect()
        server.close()

    asyncio.run(scenario())
