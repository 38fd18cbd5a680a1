"""Certificates that let nobody in, other protocols than the port's, and files that cannot be used."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import socket
import ssl
import subprocess
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.oid import NameOID
from kio.schema.errors import ErrorCode

from penstock import AsyncBrokerClient, BrokerClient
from penstock.client.push.errors import BrokerRefused, WrongProtocol
from penstock.protocol.push import messages as m
from tests.secured.node import ADMIN, PASSWORD, SecuredNode
from tests.support.certificates import DAY, Authority, Issued
from tests.support.command_line import CommandLine
from tests.support.penstock_process import PenstockProcess
from tests.support.raw_client import unique_name
from tests.support.waiting import wait_until
from tests.support.wire import encode_request, frame
from tests.web_login.secured import basic

pytestmark = pytest.mark.feature("F-03")

DOORS = ("CLIENTS", "MUTUAL", "PUSH", "HTTP")
VERSIONS = frame(encode_request("api_versions", 0, 1, {}))
SPOKEN = {  # a request that is answered without a login
    "CLIENTS": VERSIONS,
    "MUTUAL": VERSIONS,
    "PUSH": m.encode(m.Authenticate("PLAIN", b""), 1),
    "HTTP": b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n",
}
TLS_HELLO = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200)


def shut_out(node: SecuredNode, door: str, context: ssl.SSLContext) -> bool:
    """Whether the node ends a connection in or right behind its handshake."""
    with socket.create_connection((node.host, node.ports[door]), timeout=15) as raw:
        try:
            with context.wrap_socket(raw, server_hostname=node.host) as stream:
                stream.sendall(SPOKEN[door])
                return stream.recv(1) == b""
        except (ssl.SSLError, ConnectionError):
            return True


@pytest.fixture(scope="module")
def bad(node: SecuredNode, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Issued]:
    revoked = node.authority.issue(unique_name("revoked"))
    node.authority.revoke(revoked)
    wait_until(lambda: shut_out(node, "CLIENTS", node.context(revoked)), what="the list of revoked ones is read")
    told = "certificate revoked"
    wait_until(lambda: [line for line in node.lines() if told in json.dumps(line)], what="its line is in the log")
    other = Authority(tmp_path_factory.mktemp("other"))
    return {
        "expired": node.authority.issue("expired", lasts=-DAY),
        "revoked": revoked,
        "of another authority": other.issue("other"),
        "self-signed": other.issued,
    }


@pytest.mark.feature("F-20")
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("expired", "certificate has expired"),
        ("revoked", "certificate revoked"),
        ("of another authority", "unable to get local issuer certificate"),
        ("self-signed", "self-signed certificate"),
    ],
)
def test_certificates_that_are_refused(
    node: SecuredNode, bad: dict[str, Issued], door: str, kind: str, told: str
) -> None:
    with node.one_line(told):
        assert shut_out(node, door, node.context(bad[kind]))


@pytest.mark.parametrize("kind", ["expired", "revoked", "of another authority"])
def test_our_clients_say_that_their_certificate_may_be_refused(
    node: SecuredNode, bad: dict[str, Issued], kind: str, tmp_path: Path
) -> None:
    """With TLS 1.3 the end of the connection behind the handshake is all that they hear of it."""
    security = {
        "security.protocol": "SSL",
        "ssl.ca.location": str(node.authority.file),
        "ssl.certificate.location": str(bad[kind].certificate_file),
        "ssl.key.location": str(bad[kind].key_file),
    }
    port = node.ports["MUTUAL"]
    told = f"{node.host}:{port} closes the connection before its first answer; perhaps it does not take the certificate"

    async def create() -> None:
        async with AsyncBrokerClient(node.host, port, security=security) as client:
            await client.create_topic("t")

    with (
        BrokerClient(node.host, port, security=security) as client,
        pytest.raises(WrongProtocol, match=told),
    ):
        client.create_topic("t")
    with pytest.raises(WrongProtocol, match=told):
        asyncio.run(create())
    config = tmp_path / "bad.properties"
    config.write_text("".join(f"{name}={value}\n" for name, value in security.items()))
    penstock = CommandLine(f"{node.host}:{port}")
    assert told in penstock("topic", "list", "--command-config", config, code=1).err
    place = ("--host", node.host, "--port", port, "--command-config", config)
    assert told in penstock("push", "publish", "t", "x", *place, code=1).err.splitlines()[-1]


@pytest.mark.parametrize("kind", [BrokerClient, AsyncBrokerClient])
def test_a_certificate_that_is_revoked_while_a_client_is_connected(
    node: SecuredNode, kind: type[BrokerClient] | type[AsyncBrokerClient]
) -> None:
    """The client goes on trying, since an outage looks the same, and can tell what it may be."""
    issued = node.authority.issue(unique_name("leaver"))
    security = {
        "security.protocol": "SSL",
        "ssl.ca.location": str(node.authority.file),
        "ssl.certificate.location": str(issued.certificate_file),
        "ssl.key.location": str(issued.key_file),
    }
    client = kind(node.host, node.ports["MUTUAL"], security=security)

    def revoke() -> None:
        assert client.refusal is None
        node.authority.revoke(issued)
        wait_until(lambda: shut_out(node, "MUTUAL", node.context(issued)), what="the list of revoked ones is read")

    def is_told() -> bool:
        return "perhaps it does not take the certificate" in str(client.refusal)

    async def run(client: AsyncBrokerClient) -> None:
        async with client:
            with pytest.raises(BrokerRefused):
                await client.create_topic("t")
            await asyncio.to_thread(revoke)
            client._running_wire()._abort()
            await asyncio.to_thread(wait_until, is_told, what="the refusal is told")

    if isinstance(client, AsyncBrokerClient):
        asyncio.run(run(client))
        return
    with client:
        with pytest.raises(BrokerRefused):
            client.create_topic("t")
        revoke()
        wire = client._wire
        assert wire is not None
        assert wire._socket is not None
        wire._socket.shutdown(socket.SHUT_RDWR)
        wait_until(is_told, what="the refusal is told")


def test_a_list_that_is_out_of_date_is_told(node: SecuredNode) -> None:
    """It shuts out all clients with certificates, who are in the right: the operator has to learn of it."""
    right = node.context(node.authority.issue("dora"))

    def told() -> tuple[str, dict[str, float]]:
        with contextlib.closing(node.web()) as client:
            health = json.loads(client.ask("/health/ready", basic(ADMIN, PASSWORD)).body)
            page = client.ask("/metrics", basic(ADMIN, PASSWORD)).body.decode()
        assert health["status"] == "ready"
        found = re.findall(r'^penstock_revocation_list_days_left\{listener="(\w+)"\} (\S+)$', page, re.MULTILINE)
        return health["warnings"].get("revocations", ""), {name: float(days) for name, days in found}

    def log_lines() -> list[str]:
        return [m for line in node.lines() if "of the listener MUTUAL is out of date" in (m := line["message"])]

    assert told()[0] == ""
    node.authority.revocations(-DAY / 2)
    try:
        # The doors read their files one after another.
        wait_until(lambda: told()[0].count("out of date") == len(DOORS), what="the health report warns of each")
        warning, days = told()
        assert set(days) == set(DOORS)
        for door in DOORS:
            assert f"the listener {door} is out of date: clients with certificates are refused" in warning
            assert -1 < days[door] < 0
        assert shut_out(node, "MUTUAL", right)
        wait_until(log_lines, what="the log tells of it, after all doors have read")
        node.authority.revocations(DAY / 2)
        wait_until(lambda: told()[0].count("ends within a day") == len(DOORS), what="the list is said to end soon")
        assert "out of date" not in told()[0]
        assert len(log_lines()) == 1
    finally:
        node.authority.revocations()
    wait_until(lambda: not told()[0], what="the new list is read")
    assert all(1 < value < 3 for value in told()[1].values())
    assert not shut_out(node, "MUTUAL", right)


@pytest.mark.parametrize("door", DOORS)
def test_a_certificate_that_is_right(node: SecuredNode, door: str) -> None:
    assert not shut_out(node, door, node.context(node.authority.issue("carl")))


def test_no_certificate_where_one_is_asked_for(node: SecuredNode) -> None:
    with node.one_line("peer did not return a certificate"):
        assert shut_out(node, "MUTUAL", node.context())


@pytest.mark.parametrize(
    ("subject", "principal"),
    [
        ([("CN", "x,CN=admin")], r"User:CN=x\,CN\=admin"),
        ([("CN", "admin+OU=x")], r"User:CN=admin\+OU\=x"),
        ([("CN", "admin,")], r"User:CN=admin\,"),
        ([("CN", " admin")], r"User:CN=\ admin"),
        ([("O", "x"), ("CN", "admin")], "User:CN=admin,O=x"),
    ],
)
def test_names_that_look_like_the_administrators(
    node: SecuredNode, subject: list[tuple[str, str]], principal: str
) -> None:
    """`User:CN=admin` may do everything; these are others, at every door that goes by certificates."""
    kinds = {"CN": NameOID.COMMON_NAME, "O": NameOID.ORGANIZATION_NAME}
    name = x509.Name([x509.NameAttribute(kinds[kind], value) for kind, value in subject])
    issued = node.authority.issue(name, file_name=unique_name("odd"))
    with contextlib.closing(node.web(issued)) as web, node.kafka("MUTUAL", issued) as kafka:
        assert web.ask("/api/v1/session").json == {"principal": principal}
        assert web.ask("/api/v1/security/connections").status == 403
        assert kafka.create_topics_answer(unique_name()).error_code == ErrorCode.topic_authorization_failed
    admin = node.authority.issue("admin", file_name=unique_name("admin"))
    with node.kafka("MUTUAL", admin) as kafka:
        assert kafka.create_topics_answer(unique_name()).error_code == ErrorCode.none


def test_one_name_of_several_parts(node: SecuredNode) -> None:
    """CN=admin+OU=x in one part of a name, as some authorities write it."""
    several = x509.RelativeDistinguishedName(
        [
            x509.NameAttribute(NameOID.COMMON_NAME, "admin"),
            x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, "x"),
        ]
    )
    issued = node.authority.issue(x509.Name([several]), file_name=unique_name("several"))
    with contextlib.closing(node.web(issued)) as web:
        assert web.ask("/api/v1/session").json["principal"] in ("User:CN=admin+OU=x", "User:OU=x+CN=admin")
        assert web.ask("/api/v1/security/connections").status == 403


# --- other protocols -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("door", DOORS)
def test_old_versions_of_tls(node: SecuredNode, door: str) -> None:
    context = node.context()
    context.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1
    with node.one_line("unsupported protocol"):
        assert shut_out(node, door, context)


@pytest.mark.parametrize("door", DOORS)
def test_plain_text_on_a_port_with_tls(node: SecuredNode, door: str) -> None:
    with node.one_line("plain text on a TLS port"), socket.create_connection((node.host, node.ports[door])) as stream:
        stream.settimeout(15)
        stream.sendall(SPOKEN[door])
        with contextlib.suppress(ConnectionResetError):
            assert stream.recv(1) == b""


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredNode]:
    """A node without TLS, whose log is read in the same way."""
    node = PlainNode(tmp_path_factory.mktemp("plain"))
    node.prepare()
    node.start()
    yield node
    node.stop()


class PlainNode(SecuredNode):
    def prepare(self) -> None:
        self._config = "logging: {format: json}\n"
        PenstockProcess.prepare(self)

    def start(self) -> None:
        PenstockProcess.start(self)
        wait_until(self._has_http, what="the HTTP port is open")

    def _has_http(self) -> bool:
        try:
            socket.create_connection((self.host, self.http_port)).close()
        except OSError:
            return False
        return True


@pytest.mark.parametrize(
    ("door", "told"),
    [
        ("OPEN", "TLS"),
        ("PUSH", "0x16 is not a type of frame"),
        ("HTTP", "not HTTP"),
    ],
)
def test_tls_on_a_port_without(plain: SecuredNode, door: str, told: str) -> None:
    with plain.one_line(told), socket.create_connection((plain.host, plain.ports[door])) as stream:
        stream.settimeout(15)
        stream.sendall(TLS_HELLO)
        received = bytearray()
        with contextlib.suppress(ConnectionResetError):
            while chunk := stream.recv(1 << 16):
                received += chunk
        assert not received.startswith(b"\x16"), "nobody answers the handshake"


# --- files -----------------------------------------------------------------------------------------------------------


def test_a_key_that_others_can_read_ends_the_start(tmp_path: Path) -> None:
    node = SecuredNode(tmp_path / "node")
    node.certificate.key_file.chmod(0o644)
    node.prepare()
    ended = subprocess.run(node.command(), capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 2
    assert f"chmod 600 {node.certificate.key_file}" in ended.stderr


def test_an_authority_file_that_others_can_write_ends_the_start(tmp_path: Path) -> None:
    node = SecuredNode(tmp_path / "node")
    node.authority.file.chmod(0o666)
    node.prepare()
    ended = subprocess.run(node.command(), capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 2
    assert f"chmod go-w {node.authority.file}" in ended.stderr


def test_nobody_else_adds_an_authority_while_the_node_runs(node: SecuredNode, tmp_path: Path) -> None:
    file, other = node.authority.file, Authority(tmp_path / "other")
    stranger = node.context(other.issue("admin"))
    right = node.context(node.authority.issue("erin"))
    own = file.read_bytes()

    def warning() -> str:
        with contextlib.closing(node.web()) as client:
            health = json.loads(client.ask("/health/ready", basic(ADMIN, PASSWORD)).body)
        return str(health["warnings"].get("certificates", ""))

    file.chmod(0o666)
    try:
        file.write_bytes(own + other.file.read_bytes())
        wait_until(lambda: warning().count(f"chmod go-w {file}") == len(DOORS), what="the health report says so")
        assert "the certificate of the listener MUTUAL stays as it is" in warning()
        assert shut_out(node, "MUTUAL", stranger)
        assert not shut_out(node, "MUTUAL", right)
    finally:
        file.write_bytes(own)
        file.chmod(0o644)
    wait_until(lambda: not warning(), what="the mended file is taken")


def test_certificates_change_while_the_node_runs(node: SecuredNode) -> None:
    """A key that others can read changes nothing, and there is one line; the same key, kept to itself, is used."""

    def serial() -> int:
        raw = socket.create_connection((node.host, node.ports["CLIENTS"]), timeout=15)
        with node.context().wrap_socket(raw, server_hostname=node.host) as stream:
            der = stream.getpeercert(binary_form=True)
        assert der is not None
        return x509.load_der_x509_certificate(der).serial_number

    def said(text: str) -> int:
        return sum(text in line["message"] and "CLIENTS" in line["message"] for line in node.lines())

    before, renewed = serial(), node.authority.issue("renewed")
    renewed.key_file.chmod(0o644)
    renewed.key_file.replace(node.certificate.key_file)
    renewed.certificate_file.replace(node.certificate.certificate_file)
    wait_until(lambda: said("stays as it is") >= 1, what="the failure is in the log")
    assert serial() == before
    node.certificate.key_file.chmod(0o600)
    wait_until(lambda: serial() == renewed.certificate.serial_number, what="the new certificate is used")
    assert said("stays as it is") <= 2, "once for each reason: while a file is missing its pair, and for the key"
