"""What the log and the health report say of certificates that change, that cannot be used, and that have ended."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from penstock.config.settings import Settings
from penstock.node.security.certificates import DoorCertificates
from penstock.node.security.door_plans import plan_doors
from tests.support.certificates import DAY, Authority, Issued


def door_certificates(issued: Issued) -> DoorCertificates:
    tls = {"certificate_file": str(issued.certificate_file), "key_file": str(issued.key_file)}
    addresses = {"addresses": "SSL://127.0.0.1:1", "protocols": "PUSH:PLAINTEXT,HTTP:PLAINTEXT"}
    plan = plan_doors(Settings.model_validate({"tls": tls, "listeners": addresses})).kafka[0]
    certificates = DoorCertificates(10_000)
    assert certificates.of(plan) is not None
    return certificates


def test_each_reason_is_logged_once_and_is_in_the_health_report(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    authority = Authority(tmp_path)
    issued = authority.issue("server", lasts=20 * DAY)
    certificates = door_certificates(issued)
    with caplog.at_level(logging.INFO):
        issued.key_file.chmod(0o644)
        for _ in range(3):
            asyncio.run(certificates.refresh())
        open_to_others = f"the private key {issued.key_file} is open to other users"
        assert open_to_others in (certificates.problem() or "")
        issued.key_file.chmod(0o600)
        issued.certificate_file.write_bytes(authority.issue("late", lasts=-DAY).certificate_file.read_bytes())
        issued.key_file.write_bytes((tmp_path / "late.key").read_bytes())
        for look in (certificates.refresh, certificates.reload):
            asyncio.run(look())
        assert f"{issued.certificate_file} has ended on " in (certificates.problem() or "")
        authority.issue("server", lasts=20 * DAY)
        asyncio.run(certificates.refresh())
    assert certificates.problem() is None
    first, second, third = [record.getMessage() for record in caplog.records]
    kept = "the certificate of the listener SSL stays as it is: "
    assert first.startswith(kept + open_to_others)
    assert second.startswith(f"{kept}{issued.certificate_file} has ended on ")
    assert third.startswith("the listener SSL has new files: ")


def test_it_is_said_when_files_are_as_before_and_can_be_used(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    issued = Authority(tmp_path).issue("server", lasts=20 * DAY)
    certificates = door_certificates(issued)
    kept = issued.key_file.rename(tmp_path / "kept")
    with caplog.at_level(logging.INFO):
        asyncio.run(certificates.refresh())
        kept.rename(issued.key_file)
        asyncio.run(certificates.refresh())
    assert certificates.problem() is None
    assert caplog.records[-1].getMessage() == "the files of the listener SSL can be used again"


@pytest.mark.parametrize(
    ("days", "hosts", "told"),
    [
        (-2, ("localhost",), "clients refuse the certificate of the listener SSL: it has ended on "),
        (20, (), "clients refuse the certificate of the listener SSL: it is not for servers"),
        (2, ("localhost",), "the certificate of the listener SSL ends in 2.0 days; renew it"),
    ],
)
def test_the_start_tells_of_a_certificate_that_clients_refuse(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, days: int, hosts: tuple[str, ...], told: str
) -> None:
    door_certificates(Authority(tmp_path).issue("server", lasts=days * DAY, hosts=hosts))
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.getMessage().startswith(told)
