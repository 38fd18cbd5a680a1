"""Until when the lists of revoked certificates count, for OpenSSL and for the operator alike."""

from __future__ import annotations

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


def test_the_first_authority_without_a_list_counts(tmp_path: Path) -> None:
    """Of several lists of one authority the newest counts, and of several authorities the one that ends first."""
    one, other = Authority(tmp_path / "one"), Authority(tmp_path / "other")
    options = one.options(one.issue("server"), client_auth=ClientAuth.REQUIRED)
    lists = tmp_path / "lists.pem"
    options = replace(options, crl_file=lists)
    outdated = one.revocations(-DAY / 2).read_bytes()
    lists.write_bytes(outdated)
    assert days_left(options) == pytest.approx(-0.5, abs=0.1)
    renewed = one.revocations(9 * DAY).read_bytes()
    lists.write_bytes(outdated + renewed)
    assert days_left(options) == pytest.approx(9, abs=0.1)
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
