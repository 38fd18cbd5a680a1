"""Files of a listener with TLS are used only if nobody else can change or replace them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from penstock.config.settings import HttpClientSettings
from penstock.security.tls.certificates import Certificates
from penstock.security.tls.options import ClientAuth, TlsOptions, TlsProblem
from penstock.topology.http_identity import HttpIdentity, IdentityProblem
from tests.support.certificates import Authority

pytestmark = pytest.mark.feature("F-03")

FILES = ("certificate_file", "key_file", "client_ca_file", "crl_file")


@pytest.fixture
def options(tmp_path: Path) -> TlsOptions:
    """Each file is in a directory of its own."""
    authority = Authority(tmp_path / "made")
    given = authority.options(authority.issue("server"), client_auth=ClientAuth.REQUESTED)
    given = replace(given, crl_file=authority.revocations())
    moved: dict[str, Any] = {}
    for name in FILES:
        (tmp_path / name).mkdir()
        path: Path = getattr(given, name)
        moved[name] = path.rename(tmp_path / name / path.name)
    return replace(given, **moved)


def problem(options: TlsOptions) -> str:
    with pytest.raises(TlsProblem) as refused:
        Certificates(options)
    return str(refused.value)


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_others_can_replace_is_refused(options: TlsOptions, name: str) -> None:
    path: Path = getattr(options, name)
    path.parent.chmod(0o777)
    told = f"{path}: other users of this machine can replace it in {path.parent} (its mode is 0777)"
    assert problem(options) == f"{told}; run: chmod go-w {path.parent}"
    path.parent.chmod(0o1777)
    Certificates(options)


@pytest.mark.parametrize("name", [name for name in FILES if name != "key_file"])
@pytest.mark.parametrize("mode", [0o664, 0o646])
def test_a_file_that_others_can_write_is_refused(options: TlsOptions, name: str, mode: int) -> None:
    path: Path = getattr(options, name)
    path.chmod(mode)
    told = f"{path}: other users of this machine can write it (its mode is {mode:04o})"
    assert problem(options) == f"{told}; run: chmod go-w {path}"


def test_an_authority_that_somebody_adds_is_not_taken(options: TlsOptions, tmp_path: Path) -> None:
    """The ones before stay, and the remedy in the message is enough."""
    certificates = Certificates(replace(options, oldest_version="1.3"))  # so that its context has the authorities
    before = certificates.context.get_ca_certs()
    assert len(before) == 1
    path = options.client_ca_file
    assert path is not None
    own = path.read_bytes()
    path.chmod(0o666)
    path.write_bytes(own + Authority(tmp_path / "other").file.read_bytes())
    for _ in range(2):
        with pytest.raises(TlsProblem, match=f"chmod go-w {path}"):
            certificates.reload()
        assert certificates.context.get_ca_certs() == before
    path.write_bytes(own)
    path.chmod(0o644)
    assert certificates.reload() == (path,)


def test_files_that_are_not_asked_are_not_looked_at(options: TlsOptions) -> None:
    assert options.client_ca_file is not None
    options.client_ca_file.chmod(0o666)
    Certificates(replace(options, client_auth=ClientAuth.NONE))


@pytest.mark.parametrize("name", ["ca_file", "certificate_file", "key_file"])
def test_whom_a_node_trusts_is_not_for_others_to_write(options: TlsOptions, name: str) -> None:
    """Of its registry, and of its parent."""
    settings = HttpClientSettings(
        ca_file=options.client_ca_file, certificate_file=options.certificate_file, key_file=options.key_file
    )
    identity = HttpIdentity(settings, "pipe")
    identity._context()
    path: Path = getattr(settings, name)
    path.parent.chmod(0o777)
    with pytest.raises(IdentityProblem, match=f"pipe: {path}: .*; run: chmod go-w {path.parent}"):
        identity._context()
    path.unlink()
    with pytest.raises(IdentityProblem, match=f"{path}.*No such file"):
        identity._context()
