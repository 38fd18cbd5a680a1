"""The behaviour of every network: it binds an address, carries bytes, releases the address; and a broker on it."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from penstock import AsyncBrokerClient, BrokerClient
from penstock.client.address import Address, parse_addresses
from penstock.client.cluster import Cluster
from penstock.client.push.errors import NotConnected
from penstock.net.endpoint import Endpoint
from penstock.net.interface import ServerOptions
from penstock.net.networks import load_network, network_name, network_of
from tests.support.broker_process import BrokerProcess
from tests.support.penstock_process import PenstockProcess
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("P-01")

NAMES = ["tcp", "unix", "abstract"]


def address(name: str, directory: Path) -> str:
    return {"tcp": "127.0.0.1", "unix": f"unix:{directory}/s", "abstract": f"abstract:@test-{os.getpid()}"}[name]


class Echo(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._transport.write(data)


def exchange(endpoint: Endpoint, data: bytes) -> bytes:
    with network_of(endpoint).client().connect(endpoint, 5.0) as stream:
        stream.sendall(data)
        got = bytearray()
        while len(got) < len(data):
            piece = stream.recv(1 << 16)
            assert piece
            got += piece
        return bytes(got)


@pytest.mark.parametrize("name", NAMES)
def test_bytes_go_both_ways_and_the_address_is_given_back(name: str, tmp_path: Path) -> None:
    async def run() -> None:
        network = load_network(name)
        for _ in range(2):
            server = network.server(ServerOptions(host=address(name, tmp_path), receive_buffer_bytes=1 << 16))
            await server.serve(Echo)
            data = os.urandom(300_000)
            assert await asyncio.to_thread(exchange, server.endpoint, data) == data
            assert network_name(server.endpoint.host, server.endpoint.port) == name
            server.close()
            server.close()
            with pytest.raises(OSError):
                await asyncio.to_thread(exchange, server.endpoint, b"x")

    asyncio.run(run())


@pytest.mark.parametrize("name", NAMES)
def test_an_address_is_taken_once(name: str, tmp_path: Path) -> None:
    async def run() -> None:
        network = load_network(name)
        first = network.server(ServerOptions(host=address(name, tmp_path)))
        await first.serve(Echo)
        with pytest.raises(OSError):
            network.server(ServerOptions(host=first.endpoint.host, port=first.endpoint.port))
        assert await asyncio.to_thread(exchange, first.endpoint, b"still there") == b"still there"
        first.close()

    asyncio.run(run())


@pytest.mark.parametrize("name", ["unix", "abstract"])
def test_what_is_no_address_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="write"):
        load_network(name).server(ServerOptions(host="localhost", port=1))


def test_a_file_that_a_killed_process_left_is_taken_over(tmp_path: Path) -> None:
    network = load_network("unix")
    options = ServerOptions(host=f"unix:{tmp_path}/s")
    network.server(options)  # never closed
    network.server(options).close()
    assert not (tmp_path / "s").exists()


def test_addresses() -> None:
    assert parse_addresses("unix:/run/p.sock,localhost:9092") == (
        Address("unix:/run/p.sock", 0),
        Address("localhost", 9092),
    )
    with pytest.raises(ValueError, match="host:port"):
        parse_addresses("localhost:port")


class SocketBroker(PenstockProcess):
    """A broker whose clients come in by another network."""

    def __init__(self, directory: Path, config: str, at: Address) -> None:
        super().__init__(directory, config)
        self.at = at

    def command(self) -> list[str]:
        command = super().command()
        position = command.index("--host")
        return command[:position] + command[position + 4 :]  # neither host nor port

    def _ready(self) -> bool:
        assert self.running, self.log_tail()
        try:
            with Cluster([self.at], timeout_s=1) as cluster:
                cluster.topics()
        except OSError:
            return False
        return True


async def publish_async(host: str) -> int:
    async with AsyncBrokerClient(host, 0) as client:
        return (await client.publish("made", b"by push")).offset


@pytest.mark.parametrize("name", ["unix", "unix-by-address", "abstract"])
def test_a_broker_serves_and_is_reached(name: str, tmp_path: Path) -> None:
    host = {
        "unix": f"unix:{tmp_path}/data.sock",
        "unix-by-address": f"unix:{tmp_path}/broker",
        "abstract": f"abstract:@broker-{os.getpid()}",
    }[name]
    kafka = "" if name == "unix" else f'kafka:\n  host: "{host}"\n'
    network = "" if name == "unix-by-address" else f"network:\n  type: {name}\n"
    broker = SocketBroker(tmp_path, "push:\n  host: 127.0.0.1\n  port: 0\n" + kafka + network, Address(host, 0))
    broker.prepare()
    broker.start()
    try:
        with Cluster([Address(host, 0)]) as cluster:
            assert cluster.topics(["made"], create=True) is not None
            wait_until(lambda: "made" in cluster.topics(["made"]), what="a topic")
        with BrokerClient(host, 0) as client:
            assert client.publish("made", b"by push").offset == 0
        assert asyncio.run(publish_async(host)) == 1
        with pytest.raises(NotConnected, match=f"no broker at {name.partition('-')[0]}:.*none"):
            BrokerClient(f"{host}-none", 0).connect()
    finally:
        BrokerProcess.stop(broker)
