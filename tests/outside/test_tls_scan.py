"""What a scanner finds at the TLS ports of a node, against the policy of docs/security.md."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator

import pytest

from tests.outside.made_node import MadeNode
from tests.outside.scan import SSLYZE, Scan

pytestmark = [
    pytest.mark.slow,
    pytest.mark.feature("F-03"),
    pytest.mark.skipif(not SSLYZE.exists(), reason="sslyze is not installed: `make security` does it"),
]

OLD_VERSIONS = ("ssl_2_0", "ssl_3_0", "tls_1_0", "tls_1_1")
TLS_1_2 = ["ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-ECDSA-CHACHA20-POLY1305"]
TLS_1_3 = ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"]
GROUPS = {"X25519", "X448", "secp256r1", "secp384r1", "secp521r1"}


@pytest.fixture(scope="module", params=["none", "requested"])
def node(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MadeNode]:
    """Clients may show certificates, or are not asked: handshakes differ."""
    process = MadeNode(tmp_path_factory.mktemp("made"), PENSTOCK_TLS__CLIENT_AUTH=request.param)
    process.prepare()
    process.start()
    yield process
    process.stop()


@pytest.fixture(scope="module", params=["kafka", "push", "http"])
def door(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def scan(node: MadeNode, door: str, tmp_path_factory: pytest.TempPathFactory) -> Scan:
    return Scan(node.ports[door], node.authority, tmp_path_factory.mktemp("scan") / "report.json")


@pytest.mark.feature("F-20")
def test_versions_and_ciphers(scan: Scan) -> None:
    assert {version: scan.suites(version) for version in OLD_VERSIONS} == {version: [] for version in OLD_VERSIONS}
    assert scan.suites("tls_1_2") == TLS_1_2
    assert scan.suites("tls_1_3") == TLS_1_3
    assert scan.groups == GROUPS


def test_nothing_known_is_wrong(scan: Scan) -> None:
    assert not scan.result("tls_compression")["supports_compression"]
    assert not scan.takes_early_data
    assert not scan.result("heartbleed")["is_vulnerable_to_heartbleed"]
    assert not scan.result("openssl_ccs_injection")["is_vulnerable_to_ccs_injection"]
    assert scan.result("robot")["robot_result"] == "NOT_VULNERABLE_RSA_NOT_SUPPORTED"
    assert scan.result("tls_fallback_scsv")["supports_fallback_scsv"]
    assert scan.result("tls_extended_master_secret")["supports_ems_extension"]


def test_no_renegotiation(scan: Scan) -> None:
    found = scan.result("session_renegotiation")
    assert found["client_renegotiations_success_count"] == 0
    assert not found["is_vulnerable_to_client_renegotiation_dos"]


def test_no_tickets_and_no_resumption_where_certificates_count(scan: Scan, node: MadeNode) -> None:
    found = scan.result("session_resumption")
    assert found["tls_ticket_successful_resumptions_count"] == 0
    if node.environment()["PENSTOCK_TLS__CLIENT_AUTH"] != "none":
        assert found["session_id_successful_resumptions_count"] == 0


def test_the_certificate(scan: Scan) -> None:
    """As the authority of `penstock security init` has issued it, also for a client that names no host."""
    assert scan.is_trusted()


def test_tls_1_3_gives_nothing_to_come_back_with(node: MadeNode, door: str) -> None:
    """Early data needs a ticket of an earlier connection; there is none after an answer, or after the end."""
    context = node.client_context
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    raw = socket.create_connection((node.host, node.ports[door]), timeout=10)
    with context.wrap_socket(raw, server_hostname="localhost") as stream:
        stream.sendall(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        while stream.recv(4096):
            pass
        assert stream.session is None or not stream.session.has_ticket
