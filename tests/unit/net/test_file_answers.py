"""Answers that lie in files: what arrives is what the file holds, in the order of the requests, at any speed."""

import asyncio
import gc
import os
import random
from pathlib import Path
from typing import Any

import pytest

from penstock.net.connection.file_sender import raw_socket
from penstock.net.reply import Buffers, Reply
from penstock.net.service import Stream
from penstock.runtime.file_part import FilePart
from penstock.security.tls.certificates import Certificates
from tests.support.certificates import Authority
from tests.unit.net.test_connection import Service, Tls, run, served

CONTENT = random.Random(5).randbytes(6 << 20)


class FileService(Service):
    """The request "file 100 2000" is answered with so many bytes from there on, between two lines of text."""

    def __init__(self, fd: int) -> None:
        super().__init__()
        self.fd = fd

    def serve(self, frame: memoryview, stream: Stream) -> Reply:
        words = bytes(frame).split(b" ")
        if words[0] != b"file":
            return super().serve(frame, stream)
        position, size = int(words[1]), int(words[2])
        answer: Buffers = [b"begin", FilePart(self.fd, position, size), b"end"]
        if words[-1] == b"later":
            reply = Reply()
            asyncio.get_running_loop().call_later(0.01, reply.complete, answer)
            return reply
        return Reply.now(answer)


@pytest.fixture
def service(tmp_path: Path) -> FileService:
    (tmp_path / "records").write_bytes(CONTENT)
    return FileService(os.open(tmp_path / "records", os.O_RDWR))


@pytest.fixture
def tls(tmp_path: Path) -> Tls:
    authority = Authority(tmp_path / "tls")
    return Tls(Certificates(authority.options(authority.issue("server"))), authority.client_context())


def _expected(position: int, size: int) -> bytes:
    return b"begin" + CONTENT[position : position + size] + b"end"


def _open_files() -> int:
    """All but /dev/null, which uvloop opens when it first aborts a connection under TLS."""
    gc.collect()
    return sum(Path(f"/proc/self/fd/{name}").resolve() != Path("/dev/null") for name in os.listdir("/proc/self/fd"))


@pytest.mark.feature("F-12")
@pytest.mark.parametrize("encrypted", [False, True])
@pytest.mark.parametrize("buffer_bytes", [0, 32_768])
def test_bytes_and_order_are_right(service: FileService, tls: Tls, buffer_bytes: int, encrypted: bool) -> None:
    async def scenario() -> None:
        both = tls if encrypted else None
        async with served(service=service, socket_buffer_bytes=buffer_bytes, tls=both) as (_, _, connect):
            client = await connect()
            client.send(b"a", b"file 10 3000000", b"b", b"file 5000 20 later", b"file 0 1000000 later", b"c", b"d")
            await asyncio.sleep(0.05)  # the client is slow
            assert await client.receive() == b"a"
            assert await client.receive() == _expected(10, 3_000_000)
            assert await client.receive() == b"b"
            assert await client.receive() == _expected(5000, 20)
            assert await client.receive() == _expected(0, 1_000_000)
            assert await client.receive() == b"c"
            assert await client.receive() == b"d"

    run(scenario())


@pytest.mark.parametrize("encrypted", [False, True])
def test_a_client_that_does_not_read_is_not_read_from(service: FileService, tls: Tls, encrypted: bool) -> None:
    async def scenario() -> None:
        both = tls if encrypted else None
        async with served(service=service, socket_buffer_bytes=32_768, tls=both) as (_, _, connect):
            client, other = await connect(), await connect()
            client.send(b"file 0 3000000", *[b"file 0 100000"] * 30)
            await asyncio.sleep(0.1)
            other.send(b"x")
            assert await other.receive() == b"x"  # nobody waits for it
            assert await client.receive() == _expected(0, 3_000_000)
            for _ in range(30):
                assert await client.receive() == _expected(0, 100_000)

    run(scenario())


def test_a_transport_that_changes_bytes_gets_all_of_them(service: FileService, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing goes to the socket past it: under TLS that would be plain text."""

    def never(self: FilePart, socket_fd: int) -> int:
        raise AssertionError("a file was sent to the socket past the transport")

    monkeypatch.setattr("penstock.net.connection.file_sender.raw_socket", lambda transport: None)
    monkeypatch.setattr(FilePart, "send", never)

    async def scenario() -> None:
        async with served(service=service) as (_, _, connect):
            client = await connect()
            client.send(b"file 100 2000000", b"file 7 30 later", b"now")
            assert await client.receive() == _expected(100, 2_000_000)
            assert await client.receive() == _expected(7, 30)
            assert await client.receive() == b"now"

    run(scenario())


class Plain:
    def fileno(self) -> int:
        return 3


@pytest.mark.parametrize(
    ("found", "can_send"),
    [({"socket": Plain()}, True), ({"socket": Plain(), "sslcontext": 1}, False), ({}, False)],
)
def test_only_a_plain_socket_takes_files(found: dict[str, Any], can_send: bool) -> None:
    class Transport(asyncio.Transport):
        def get_extra_info(self, name: str, default: Any = None) -> Any:
            return found.get(name, default)

    assert (raw_socket(Transport()) is not None) is can_send


@pytest.mark.parametrize("encrypted", [False, True])
def test_a_client_that_leaves_leaves_nothing_open(service: FileService, tls: Tls, encrypted: bool) -> None:
    async def scenario() -> None:
        both = tls if encrypted else None
        async with served(service=service, socket_buffer_bytes=32_768, tls=both) as (_, _, connect):
            before = _open_files()
            for _ in range(20):
                client = await connect()
                client.send(b"file 0 3000000", b"file 0 100000")
                await asyncio.sleep(0.005)
                client.writer.transport.abort()
            for _ in range(100):
                await asyncio.sleep(0.02)
                if _open_files() == before:
                    return
            pytest.fail(f"{_open_files()} files instead of {before} are open")

    run(scenario())


@pytest.mark.parametrize("encrypted", [False, True])
def test_a_file_that_became_shorter_ends_the_connection(service: FileService, tls: Tls, encrypted: bool) -> None:
    async def scenario() -> None:
        async with served(service=service, tls=tls if encrypted else None) as (_, _, connect):
            client, other = await connect(), await connect()
            os.ftruncate(service.fd, 100_000)
            client.send(b"file 0 3000000")
            with pytest.raises(asyncio.IncompleteReadError):
                await client.receive()
            other.send(b"file 0 1000")
            assert await other.receive() == _expected(0, 1000)

    run(scenario())
