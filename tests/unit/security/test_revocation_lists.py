"""Until when the lists of revoked certificates count, for OpenSSL and for the operator alike."""

from __future__ import annotations

import ssl
import time
from dataclasses import replace
from pathlib import Path

import pytest

from penstock.security.tls.certificates import Certificates
from penstock.security.tls.options import ClientAuth, TlsOptions, TlsProblem
from tests.support.certificates import DAY, Authority

pytestmark = pytest.mark.feature("F-03")


def days_left(options: TlsOptions) -> float | None:
    end = Certificates(options).lists_expire_at
    return None if end is None else (end - time.time()) / DAY.total_seconds()


def is_taken(options: TlsOptions, client: ssl.SSLContext) -> bool:
    """Whether a handshake succeeds on both sides."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [
        client.wrap_bio(to_client, to_server, server_hostname="localhost"),
        Certificates(options).context.wrap_bio(to_server, to_client, server_side=True),
    ]
    while sides:
        for side in tuple(sides):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLError:
                return False
            sides.remove(side)
    return True


def test_the_first_authority_without_a_list_counts(tmp_path: Path) -> None:
    """Of several lists of one authority the newest counts, and of several authorities the one that ends first."""
    one, other = Authority(tmp_path / "one"), Authority(tmp_path / "other")
    options = one.options(one.issue("server"), client_auth=ClientAuth.REQUIRED)
    lists = tmp_path / "lists.pem"
    options = replace(options, crl_file=lists)
    client = one.client_context(one.issue("alice"))
    outdated = one.revocations(-DAY / 2).read_bytes()
    lists.write_bytes(outdated)
    assert days_left(options) == pytest.approx(-0.5, abs=0.1)
    assert not is_taken(options, client)
    renewed = one.revocations(9 * DAY).read_bytes()
    for both in (outdated + renewed, renewed + outdated):
        lists.write_bytes(both)
        assert days_left(options) == pytest.approx(9, abs=0.1)
        assert is_taken(options, client)
    lists.write_bytes(renewed + b"a comment\n" + other.revocations(4 * DAY).read_bytes() + outdated)
    assert days_left(options) == pytest.approx(4, abs=0.1)


def test_without_certificates_of_clients_no_list_counts(tmp_path: Path) -> None:
    authority = Authority(tmp_path / "one")
    options = replace(authority.options(authority.issue("server")), crl_file=authority.revocations(-DAY / 2))
    assert days_left(options) is None
    assert days_left(replace(options, crl_file=None)) is None


def test_a_list_that_cannot_be_read_leaves_the_one_before(tmp_path: Path) -> None:
    authority = Authority(tmp_path / "one")
    path = authority.revocations(3 * DAY)
    options = authority.options(authority.issue("server"), client_auth=ClientAuth.REQUIRED)
    certificates = Certificates(replace(options, crl_file=path))
    before = certificates.lists_expire_at
    assert before is not None
    path.write_bytes(b"-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n")
    with pytest.raises(TlsProblem):
        certificates.reload()
    assert certificates.lists_expire_at == before
