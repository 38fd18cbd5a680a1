"""HTTP ports with other protocols: certificates alone, and logins without encryption."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.raw_client import unique_name
from tests.web_login.secured import WebProcess, login_of


@contextmanager
def running(directory: Path, protocol: str, **settings: Any) -> Iterator[WebProcess]:
    process = WebProcess(directory, protocol, **settings)
    process.prepare()
    process.start()
    try:
        yield process
    finally:
        process.stop()


def test_certificates_alone(tmp_path: Path) -> None:
    """A client without a certificate is ANONYMOUS, who may do everything here; one for whom no rule fits is nobody."""
    with running(tmp_path, "SSL") as broker:
        assert broker.client().ask("/metrics").status == 200
        carl = broker.client(broker.authority.issue("carl"))
        assert carl.ask("/metrics").status == 403
        assert carl.ask("/metrics", login_of("admin")).status == 403  # nobody asks for passwords
        name = unique_name("carl")
        assert carl.ask("/api/v1/topics", method="POST", body={"name": name}).status == 201
        stranger = broker.client(broker.authority.issue("no rule 7"))
        answer = stranger.ask("/health/live")
        assert answer.status == 403
        assert "no rule" in answer.detail
        assert not stranger.is_open


def test_a_port_that_is_not_encrypted_takes_no_passwords(tmp_path: Path) -> None:
    with running(tmp_path, "SASL_PLAINTEXT") as broker:
        client = broker.client()
        assert client.ask("/health/ready").json == {"status": "ready"}
        answer = client.ask("/api/v1/topics", login_of("admin"))
        assert answer.status == 401
        assert "sasl.enabled_mechanisms" in answer.detail
        assert "Basic" not in str(answer.headers)


def test_plain_allows_passwords_without_encryption(tmp_path: Path) -> None:
    with running(tmp_path, "SASL_PLAINTEXT", sasl={"enabled_mechanisms": ["PLAIN"]}) as broker:
        client = broker.client()
        assert client.ask("/api/v1/topics", login_of("admin")).status == 200
        assert client.ask("/api/v1/topics").status == 401
