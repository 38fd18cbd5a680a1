"""Encrypted listeners over real sockets: whom they let in, what they cost before that, and new certificates."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import logging
import os
import socket
import ssl
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from penstock.net.admission.door import Door
from penstock.net.listener import Listener
from penstock.net.service import Stream
from penstock.net.tls import server as tls_server
from penstock.net.tls.first_record import has_ended, wake_at
from penstock.security.tls.certificates import Certificates
from penstock.security.tls.context import build_context
from penstock.security.tls.distinguished_name import subject_of
from penstock.security.tls.options import ClientAuth, TlsOptions, TlsProblem
from tests.support.certificates import DAY, Authority, Issued
from tests.unit.net import test_connection
from tests.unit.net.test_connection import Client, Service, ServiceChannel, Tls, run, served, until

REFUSED = (ssl.SSLError, ConnectionError, asyncio.IncompleteReadError)


class Known(Service):
    """Remembers the certificates of clients."""

    def __init__(self) -> None:
        super().__init__()
        self.certificates: list[bytes | None] = []
        self.hosts: list[str] = []

    def connected(self, stream: Stream) -> ServiceChannel:
        self.hosts.append(stream.peer.host)
        self.certificates.append(stream.peer.certificate)
        return super().connected(stream)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "tls")


@pytest.fixture
def short_handshakes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(test_connection, "HANDSHAKE_MS_MAX", 200)


class Server:
    def __init__(self, service: Known, listener: Listener, certificates: Certificates) -> None:
        self.service = service
        self.listener = listener
        self.certificates = certificates

    @property
    def door(self) -> Door:
        return self.listener._door

    async def connect(self, context: ssl.SSLContext) -> Client:
        opened = await asyncio.open_connection("127.0.0.1", self.listener.port, ssl=context)
        return Client(*opened)

    async def plain(self, number: int = 1) -> socket.socket:
        """A socket without TLS, from an address with this number."""
        there = ("127.0.0.1", self.listener.port)
        return await asyncio.to_thread(socket.create_connection, there, source_address=(f"127.0.0.{number}", 0))

    async def ask(self, context: ssl.SSLContext) -> bytes:
        """The certificate of the server, in DER, after a request and its answer."""
        client = await self.connect(context)
        client.send(b"hello")
        assert await client.receive() == b"hello"
        der = client.writer.get_extra_info("ssl_object").getpeercert(True)
        client.writer.close()
        assert isinstance(der, bytes)
        return der


@asynccontextmanager
async def serving(options: TlsOptions, connections_max: int = 100, host: str = "127.0.0.1") -> AsyncIterator[Server]:
    certificates = Certificates(options)
    service = Known()
    tls = Tls(certificates, ssl.create_default_context())
    async with served(service=service, tls=tls, connections_max=connections_max, host=host) as (_, listener, _):
        yield Server(service, listener, certificates)


@pytest.mark.feature("F-03")
def test_requests_and_answers(authority: Authority) -> None:
    async def scenario() -> None:
        async with serving(authority.options(authority.issue("server"))) as server:
            client = await server.connect(authority.client_context())
            client.send(b"a", b"b" * 2_000_000, b"c")
            for expected in (b"a", b"b" * 2_000_000, b"c"):
                assert await client.receive() == expected
            assert server.service.certificates == [None]
            assert server.door.open_count == 1
            client.writer.close()
            await until(lambda: server.door.open_count == 0)

    run(scenario())


def test_a_client_that_trusts_another_authority_leaves(authority: Authority, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with serving(authority.options(authority.issue("server"))) as server:
            stranger = Authority(tmp_path / "other").client_context()
            with pytest.raises(ssl.SSLCertVerificationError):
                await server.connect(stranger)
            await until(lambda: server.door.open_count == 0)
            await server.ask(authority.client_context())

    run(scenario())


@pytest.mark.parametrize("first", [b"\x00\x00\x00\x08\x00\x12\x00\x00", b"GET / HTTP/1.1\r\n\r\n"])
def test_plain_text_is_refused_with_one_line(
    authority: Authority, caplog: pytest.LogCaptureFixture, first: bytes
) -> None:
    async def scenario() -> None:
        async with serving(authority.options(authority.issue("server"))) as server:
            for _ in range(3):
                reader, writer = await asyncio.open_connection("127.0.0.1", server.listener.port)
                writer.write(first)
                with contextlib.suppress(ConnectionResetError):
                    assert await reader.read() == b""
                writer.close()
            assert server.door.dropped["handshake"] == 3
            assert server.door.open_count == 0

    with caplog.at_level(logging.WARNING):
        run(scenario())
    assert [record.message for record in caplog.records if "plain text on a TLS port" in record.message] == [
        "refused 127.0.0.1 at the kafka door: plain text on a TLS port"
    ]


def test_an_address_that_fails_all_the_time_does_not_hide_others(
    authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        async with serving(authority.options(authority.issue("server"))) as server:
            for number in (1, 1, 2):
                failed = server.door.dropped["handshake"]
                with await server.plain(number) as stream:
                    stream.sendall(b"GET / HTTP/1.1")
                    await until(partial(_has_failed, server, failed))

    with caplog.at_level(logging.WARNING):
        run(scenario())
    told = [record.message for record in caplog.records if "plain text on a TLS port" in record.message]
    assert [line.split()[1] for line in told] == ["127.0.0.1", "127.0.0.2"]


def test_a_client_of_ipv4_has_its_address_at_a_listener_of_ipv6(authority: Authority) -> None:
    async def scenario() -> None:
        async with serving(authority.options(authority.issue("server")), host="::") as server:
            client = await server.connect(authority.client_context())
            await until(lambda: server.service.hosts == ["127.0.0.1"])
            assert [ticket.host for ticket in server.door.silent] == ["127.0.0.1"]
            client.writer.close()

    run(scenario())


def _has_failed(server: Server, before: int) -> bool:
    return server.door.dropped["handshake"] > before


@pytest.mark.usefixtures("short_handshakes")
@pytest.mark.parametrize("beginning", [b"", b"\x16", b"\x16\x03\x01\x02\x00\x01\x00"])
def test_a_handshake_that_does_not_go_on_ends(authority: Authority, beginning: bytes) -> None:
    async def scenario() -> None:
        async with serving(authority.options(authority.issue("server"))) as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.listener.port)
            writer.write(beginning)
            with contextlib.suppress(ConnectionResetError):  # what it has sent was not read
                assert await reader.read() == b""
            writer.close()
            assert server.door.dropped["handshake"] == 1
            assert server.door.open_count == 0
            assert server.service.certificates == [], "nothing was made for it"

    run(scenario())


def test_silent_sockets_give_way_to_clients(authority: Authority) -> None:
    async def scenario() -> None:
        async with serving(authority.options(authority.issue("server")), connections_max=10) as server:
            silent = [await server.plain(number) for number in range(2, 32)]
            await until(lambda: server.door.dropped["room"] == 20)
            begun = [await server.plain(number) for number in range(32, 62)]
            for one in begun:
                with contextlib.suppress(ConnectionError):
                    one.send(b"\x16\x03\x01")
            for _ in range(3):
                await server.ask(authority.client_context())
            assert server.door.open_count <= 10
            for one in (*silent, *begun):
                one.close()
            await until(lambda: server.door.open_count == 0)

    run(scenario())


def test_more_handshakes_than_there_may_be_take_turns(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tls_server, "UNDER_WAY_MAX", 2)
    # Long for a client on a busy machine: one that is slower would lose its place, too.
    monkeypatch.setattr(tls_server, "PATIENCE_SECONDS", 5.0)

    async def scenario() -> None:
        async with serving(authority.options(authority.issue("server"))) as server:
            stuck = [await server.plain() for _ in range(2)]
            for one in stuck:
                one.send(client_hello(authority))
            await until(lambda: server.door.open_count == 2)
            context = authority.client_context()
            await asyncio.gather(*(server.ask(context) for _ in range(20)))
            for one in stuck:
                one.close()
            await until(lambda: server.door.open_count == 0)

    run(scenario())


def client_hello(authority: Authority) -> bytes:
    """The first record of a client."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = authority.client_context().wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


@pytest.mark.parametrize("beginning", [b"\x16", b"\x16\x03\x01\x02", b"\x16\x03\x01\x02\x00\x01\x00"])
def test_the_beginning_of_a_record_takes_no_place(
    authority: Authority, monkeypatch: pytest.MonkeyPatch, beginning: bytes
) -> None:
    monkeypatch.setattr(tls_server, "UNDER_WAY_MAX", 1)
    monkeypatch.setattr(tls_server, "PATIENCE_SECONDS", 60.0)

    async def scenario() -> None:
        async with serving(authority.options(authority.issue("server"))) as server:
            stuck = [await server.plain() for _ in range(3)]
            for one in stuck:
                one.send(beginning)
            await until(lambda: server.door.open_count == 3)
            await server.ask(authority.client_context())
            for one in stuck:
                one.close()
            await until(lambda: server.door.open_count == 0)

    run(scenario())


def test_a_first_record_may_come_in_pieces(authority: Authority) -> None:
    async def scenario() -> None:
        async with serving(authority.options(authority.issue("server"))) as server:
            hello = client_hello(authority)
            with await server.plain() as stream:
                stream.setblocking(False)
                loop = asyncio.get_running_loop()
                for start in range(0, len(hello), 100):
                    await loop.sock_sendall(stream, hello[start : start + 100])
                    await asyncio.sleep(0)
                assert (await loop.sock_recv(stream, 1)) == b"\x16", "the server's part of the handshake"

    run(scenario())


def test_a_socket_that_is_readable_too_early_is_looked_at_again(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So it is while the system is short of memory: here because it no longer waits for more."""
    looks = 0

    def counted(stream: socket.socket) -> bool:
        nonlocal looks
        looks += 1
        return has_ended(stream)

    monkeypatch.setattr(tls_server, "AGAIN_SECONDS", 0.001)
    monkeypatch.setattr(tls_server, "has_ended", counted)

    async def scenario() -> None:
        async with serving(authority.options(authority.issue("server"))) as server:
            hello, tls = client_hello(authority), server.listener._server
            assert isinstance(tls, tls_server.TlsServer)
            stays, leaves = await server.plain(), await server.plain()
            for stream in (stays, leaves):
                stream.send(hello[:7])
            await until(lambda: [arrival.seen_bytes for arrival in tls._silent] == [7, 7])
            for arrival in tls._silent:
                wake_at(arrival.stream, 1)
            await until(lambda: looks > 10)
            leaves.close()
            await until(lambda: server.door.open_count == 1)
            with stays:
                stays.setblocking(False)
                loop = asyncio.get_running_loop()
                await loop.sock_sendall(stays, hello[7:])
                assert (await loop.sock_recv(stays, 1)) == b"\x16", "the server's part of the handshake"

    run(scenario())


def test_handshakes_of_one_address_do_not_hold_off_those_of_another(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tls_server, "UNDER_WAY_MAX", 4)
    monkeypatch.setattr(tls_server, "PATIENCE_SECONDS", 60.0)

    async def scenario() -> None:
        async with serving(authority.options(authority.issue("server"))) as server:
            hello = client_hello(authority)
            crowd = [await server.plain(number=2) for _ in range(20)]
            for one in crowd:
                one.send(hello)
            await until(lambda: server.door.open_count == 20)
            context = authority.client_context()
            await asyncio.gather(*(server.ask(context) for _ in range(8)))
            assert server.door.dropped["handshake"] <= 8, "no more have given way than were needed"
            for one in crowd:
                one.close()
            await until(lambda: server.door.open_count == 0)

    run(scenario())


def test_handshakes_begin_at_a_pace(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop has time for others between the turns, however many clients come at once."""
    monkeypatch.setattr(tls_server, "BEGUN_PER_TURN", 2)
    monkeypatch.setattr(tls_server, "TURN_SECONDS", 0.1)

    async def scenario() -> None:
        async with serving(authority.options(authority.issue("server"))) as server:
            context = authority.client_context()
            loop = asyncio.get_running_loop()
            await server.ask(context)
            started = loop.time()
            await asyncio.gather(*(server.ask(context) for _ in range(6)))
            assert loop.time() - started > 0.19, "three turns have two pauses between them"

    run(scenario())


async def _outcome(server: Server, context: ssl.SSLContext) -> bool:
    try:
        await server.ask(context)
    except REFUSED:
        return False
    return True


@pytest.mark.parametrize("client_auth", [ClientAuth.REQUESTED, ClientAuth.REQUIRED])
def test_certificates_of_clients(authority: Authority, tmp_path: Path, client_auth: ClientAuth) -> None:
    good, expired = authority.issue("alice"), authority.issue("late", lasts=-DAY)
    foreign = Authority(tmp_path / "other").issue("mallory")
    own_signed = Authority(tmp_path / "self", "alice").issued
    revoked = authority.issue("eve")
    crl = authority.revoke(revoked)

    async def scenario() -> None:
        options = authority.options(authority.issue("server"), client_auth=client_auth)
        async with serving(replace(options, crl_file=crl)) as server:
            assert await _outcome(server, authority.client_context(good))
            der = server.service.certificates[-1]
            assert der is not None
            assert subject_of(der) == "CN=alice"
            for bad in (expired, foreign, own_signed, revoked):
                assert not await _outcome(server, authority.client_context(bad)), bad.certificate_file
            assert await _outcome(server, authority.client_context()) is (client_auth is ClientAuth.REQUESTED)
            await until(lambda: server.door.open_count == 0)

    run(scenario())


def _is_resumed(server: Server, context: ssl.SSLContext) -> bool:
    """Whether a client of TLS 1.2 that comes back goes on with its first session."""
    session: ssl.SSLSession | None = None
    for _ in range(2):
        plain = socket.create_connection(("127.0.0.1", server.listener.port), timeout=10)
        with context.wrap_socket(plain, server_hostname="127.0.0.1", session=session) as stream:
            stream.sendall(b"\0\0\0\1x")
            assert stream.recv(5)
            session, reused = stream.session, stream.session_reused
    return bool(reused)


@pytest.mark.parametrize("client_auth", [ClientAuth.REQUESTED, ClientAuth.REQUIRED])
def test_a_certificate_is_looked_at_in_every_handshake(authority: Authority, client_auth: ClientAuth) -> None:
    """A session that goes on would be that of a certificate which may have expired since."""

    async def scenario() -> None:
        options = authority.options(authority.issue("server"), client_auth=client_auth)
        async with serving(replace(options, crl_file=authority.revocations())) as server:
            context = authority.client_context(authority.issue("alice"))
            context.maximum_version = ssl.TLSVersion.TLSv1_2
            assert not await asyncio.to_thread(_is_resumed, server, context)
            assert len(server.service.certificates) == 2
            assert None not in server.service.certificates

    run(scenario())


def _narrow(context: ssl.SSLContext, *, newest: ssl.TLSVersion, ciphers: str) -> ssl.SSLContext:
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = newest
    context.set_ciphers(f"{ciphers}:@SECLEVEL=0")
    return context


@pytest.mark.feature("F-20")
@pytest.mark.parametrize(
    ("newest", "ciphers"),
    [
        (ssl.TLSVersion.TLSv1, "ALL"),
        (ssl.TLSVersion.TLSv1_1, "ALL"),
        (ssl.TLSVersion.TLSv1_2, "ECDHE-ECDSA-AES128-SHA256"),
        (ssl.TLSVersion.TLSv1_2, "AES128-GCM-SHA256"),
    ],
)
def test_what_is_weak_is_refused(authority: Authority, newest: ssl.TLSVersion, ciphers: str) -> None:
    async def scenario() -> None:
        async with serving(authority.options(authority.issue("server"))) as server:
            weak = _narrow(authority.client_context(), newest=newest, ciphers=ciphers)
            assert not await _outcome(server, weak)
            strong = authority.client_context()
            strong.maximum_version = ssl.TLSVersion.TLSv1_2
            assert await _outcome(server, strong)
            strong.minimum_version = strong.maximum_version = ssl.TLSVersion.TLSv1_3
            assert await _outcome(server, strong)

    run(scenario())


@pytest.mark.feature("F-20")
@pytest.mark.parametrize(
    ("ciphers", "reason"),
    [
        ("AECDH-NULL-SHA:@SECLEVEL=0", "without forward secrecy or authenticated encryption"),  # in fact plain text
        ("ECDHE-ECDSA-NULL-SHA:@SECLEVEL=0", "without forward secrecy"),
        ("AECDH-AES128-SHA:@SECLEVEL=0", "without forward secrecy"),
        ("ECDHE+AESGCM:ECDHE-ECDSA-AES128-SHA", "without forward secrecy"),
        ("AES128-GCM-SHA256", "without forward secrecy"),
        ("ECDHE+AESGCM:@SECLEVEL=0", "@SECLEVEL"),
    ],
)
def test_ciphers_that_are_weak_are_refused_at_the_start(authority: Authority, ciphers: str, reason: str) -> None:
    with pytest.raises(TlsProblem, match=reason):
        build_context(replace(authority.options(authority.issue("server")), ciphers=ciphers))


@pytest.mark.feature("F-20")
def test_ciphers_can_be_chosen_among_the_sound_ones(authority: Authority) -> None:
    for ciphers in ("ECDHE+CHACHA20", "ECDHE-ECDSA-AES256-GCM-SHA384:@SECLEVEL=3", "ECDHE+AESCCM"):
        build_context(replace(authority.options(authority.issue("server")), ciphers=ciphers))


def _replace(server_files: Issued, by: Issued) -> None:
    """As renewals do it: a new file takes the place of the old one."""
    for old, new in ((server_files.key_file, by.key_file), (server_files.certificate_file, by.certificate_file)):
        os.replace(new, old)


def test_a_new_certificate_is_for_new_handshakes(authority: Authority) -> None:
    async def scenario() -> None:
        first = authority.issue("server")
        async with serving(authority.options(first)) as server:
            context = authority.client_context()
            old = await server.connect(context)
            old.send(b"before")
            assert await old.receive() == b"before"
            second = authority.issue("server", file_name="renewed", lasts=DAY * 2)
            assert not server.certificates.reload()
            _replace(first, second)
            assert set(server.certificates.reload()) == {first.certificate_file, first.key_file}
            assert not server.certificates.reload()
            assert second.certificate.serial_number == _serial(await server.ask(context))
            old.send(b"after")
            assert await old.receive() == b"after"
            left = server.certificates.expires_at - datetime.datetime.now(datetime.UTC).timestamp()
            assert 1.9 * 86_400 < left < 2.1 * 86_400

    run(scenario())


def test_new_authorities_are_for_new_handshakes(authority: Authority, tmp_path: Path) -> None:
    other = Authority(tmp_path / "other")
    alice = other.issue("alice")

    async def scenario() -> None:
        trusted = tmp_path / "trusted.pem"
        trusted.write_bytes(authority.file.read_bytes())
        options = authority.options(authority.issue("server"), client_auth=ClientAuth.REQUIRED)
        async with serving(replace(options, client_ca_file=trusted)) as server:
            context = authority.client_context(alice)
            assert not await _outcome(server, context)
            trusted.write_bytes(authority.file.read_bytes() + other.file.read_bytes())
            assert server.certificates.reload() == (trusted,)
            assert await _outcome(server, context)

    run(scenario())


@pytest.mark.parametrize("damage", ["cut", "of another key", "gone", "readable by all"])
def test_files_that_cannot_be_used_change_nothing(authority: Authority, damage: str) -> None:
    async def scenario() -> None:
        issued = authority.issue("server")
        async with serving(authority.options(issued)) as server:
            if damage == "cut":
                text = issued.certificate_file.read_bytes()
                issued.certificate_file.write_bytes(text[: len(text) // 2])
            elif damage == "of another key":
                os.replace(authority.issue("other").key_file, issued.key_file)
            elif damage == "gone":
                issued.key_file.unlink()
            else:
                issued.key_file.chmod(0o644)
                os.utime(issued.key_file, (1, 1))
            for _ in range(2):
                with pytest.raises(TlsProblem, match=str(issued.key_file.parent)):
                    server.certificates.reload()
            assert _serial(await server.ask(authority.client_context())) == issued.certificate.serial_number

    run(scenario())


def test_what_mends_a_file_need_not_change_it(authority: Authority) -> None:
    """As the `chmod 600` that the message advises."""
    issued, renewed = authority.issue("server"), authority.issue("renewed")
    certificates = Certificates(authority.options(issued))
    renewed.key_file.chmod(0o644)
    _replace(issued, renewed)
    with pytest.raises(TlsProblem, match=f"chmod 600 {issued.key_file}"):
        certificates.reload()
    issued.key_file.chmod(0o600)
    assert set(certificates.reload()) == {issued.certificate_file, issued.key_file}
    assert not certificates.reload()


def test_files_that_are_as_before_are_used_again(authority: Authority) -> None:
    issued = authority.issue("server")
    certificates = Certificates(authority.options(issued))
    kept = issued.key_file.rename(issued.key_file.with_suffix(".kept"))
    with pytest.raises(TlsProblem):
        certificates.reload()
    kept.rename(issued.key_file)
    assert certificates.reload() == ()
    issued.key_file.chmod(0o640)
    with pytest.raises(TlsProblem, match="chmod 600"):
        certificates.reload()


def test_a_signal_reads_files_that_look_the_same(authority: Authority) -> None:
    issued = authority.issue("server")
    certificates, status = Certificates(authority.options(issued)), issued.certificate_file.stat()
    text = issued.certificate_file.read_bytes()
    issued.certificate_file.write_bytes(b"x" * len(text))
    os.utime(issued.certificate_file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert certificates.reload() == ()
    with pytest.raises(TlsProblem):
        certificates.reload(always=True)


@pytest.mark.parametrize(
    ("lasts", "hosts", "told"),
    [
        (-DAY, ("localhost",), "has ended on "),
        (DAY, (), "is not for servers"),
    ],
)
def test_a_new_certificate_that_clients_refuse_is_not_taken(
    authority: Authority, lasts: datetime.timedelta, hosts: tuple[str, ...], told: str
) -> None:
    async def scenario() -> None:
        issued = authority.issue("server")
        async with serving(authority.options(issued)) as server:
            _replace(issued, authority.issue("renewed", lasts=lasts, hosts=hosts))
            for _ in range(2):
                with pytest.raises(TlsProblem, match=f"{issued.certificate_file} {told}"):
                    server.certificates.reload()
            assert server.certificates.problem is None
            assert _serial(await server.ask(authority.client_context())) == issued.certificate.serial_number

    run(scenario())


def test_a_certificate_that_begins_later_is_taken_then(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    issued, renewed = authority.issue("server"), authority.issue("renewed")
    certificates = Certificates(authority.options(issued))
    begins_at = renewed.certificate.not_valid_before_utc.timestamp()
    monkeypatch.setattr("penstock.security.tls.certificates.time.time", lambda: begins_at - 60)
    _replace(issued, renewed)
    with pytest.raises(TlsProblem, match="begins on "):
        certificates.reload()
    monkeypatch.undo()
    assert certificates.reload()


def test_authorities_change_beside_a_certificate_that_has_ended(authority: Authority, tmp_path: Path) -> None:
    trusted = tmp_path / "trusted.pem"
    trusted.write_bytes(authority.file.read_bytes())
    options = authority.options(authority.issue("server", lasts=-DAY), client_auth=ClientAuth.REQUIRED)
    certificates = Certificates(replace(options, client_ca_file=trusted))
    assert "has ended on " in (certificates.problem or "")
    trusted.write_bytes(authority.file.read_bytes() + Authority(tmp_path / "other").file.read_bytes())
    assert certificates.reload() == (trusted,)


def _serial(der: bytes) -> int:
    from cryptography import x509

    return x509.load_der_x509_certificate(der).serial_number
