"""Parents that a registry names: which addresses may be asked, and who may be told the login."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult
from pydantic import ValidationError

from penstock.config.settings import PipeSettings
from penstock.topology.admitting_resolver import AdmittingResolver
from penstock.topology.named_parents import NamedParents
from penstock.topology.pipe.http_connector import HttpPipeConnector

ELSEWHERE = "https://registry.example:8080"
HERE = ["http://localhost:8070", "http://127.0.0.1:8070", "http://127.0.1.1", "http://[::1]:8070",
        "http://[::ffff:127.0.0.1]:8070", f"http://{socket.gethostname()}:8070"]  # fmt: skip
WITHIN = ["http://127.0.0.1:8080", "http://127.8.9.10", "http://localhost:8080", "http://LOCALHOST.:8080",
          "http://[::1]:8080", "http://[::ffff:127.0.0.1]:8080", "http://[2002:7f00:1::]:8080"]  # fmt: skip
AWAY = ["http://10.0.0.7:8080", "https://root.example", "http://[2001:db8::1]:8080", "http://localhost.example"]
LOGIN = {"username": "shop-7", "password": "secret"}


class FixedResolver(AbstractResolver):
    """A name server whose names all have the same addresses."""

    def __init__(self, *addresses: str) -> None:
        self._addresses = addresses

    async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET) -> Any:
        return [
            ResolveResult(hostname=host, host=each, port=port, family=family, proto=0, flags=0)
            for each in self._addresses
        ]

    async def close(self) -> None:
        """Nothing is open."""


def resolved(registry_url: str, *addresses: str) -> list[str]:
    resolver = AdmittingResolver(NamedParents(PipeSettings(), registry_url), FixedResolver(*addresses))
    return [each["host"] for each in asyncio.run(resolver.resolve("root.example", 8080))]


@pytest.mark.parametrize("url", WITHIN)
def test_a_registry_elsewhere_names_no_parent_inside_this_machine(url: str) -> None:
    with pytest.raises(ValueError, match=r"inside this machine, .* set pipe\.parent_url"):
        HttpPipeConnector(url, PipeSettings(), ELSEWHERE)
    HttpPipeConnector(url, PipeSettings())  # an administrator's own choice


@pytest.mark.parametrize("registry_url", HERE)
def test_a_registry_on_this_machine_names_whom_it_likes(registry_url: str) -> None:
    for url in (*WITHIN, *AWAY):
        HttpPipeConnector(url, PipeSettings(), registry_url)
    assert resolved(registry_url, "127.0.1.1", "::1", "10.0.0.7") == ["127.0.1.1", "::1", "10.0.0.7"]


@pytest.mark.parametrize("url", AWAY)
def test_parents_elsewhere_are_asked(url: str) -> None:
    HttpPipeConnector(url, PipeSettings(), ELSEWHERE)


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.1.1", "::1", "::ffff:127.0.0.1", "2002:7f00:1::"])
def test_a_name_that_stands_for_this_machine_is_not_asked(address: str) -> None:
    with pytest.raises(OSError, match="inside this machine"):
        resolved(ELSEWHERE, address)
    assert resolved(ELSEWHERE, address, "10.0.0.7") == ["10.0.0.7"]


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "224.0.0.1", "169.254.169.254", "::ffff:169.254.169.254",
                                     "fe80::1%eth0"])  # fmt: skip
@pytest.mark.parametrize("registry_url", [ELSEWHERE, HERE[0]])
def test_a_name_that_stands_for_an_address_of_nobody_is_not_asked(registry_url: str, address: str) -> None:
    with pytest.raises(OSError, match="no other machine can use"):
        resolved(registry_url, address)


def test_a_name_without_addresses_is_not_asked() -> None:
    with pytest.raises(OSError, match="no address"):
        resolved(ELSEWHERE)


@pytest.mark.parametrize("registry_url", [ELSEWHERE, HERE[0]])
@pytest.mark.parametrize("login", [LOGIN, {"token": "secret"}], ids=["password", "token"])
def test_a_login_is_for_a_parent_that_is_verified(registry_url: str, login: dict[str, str], tmp_path: Path) -> None:
    url = "https://root.example:8080"
    with pytest.raises(ValueError, match=r"only to a parent that pipe\.ca_file verifies") as refused:
        HttpPipeConnector(url, PipeSettings.model_validate(login), registry_url)
    assert "secret" not in str(refused.value)
    verifying = PipeSettings.model_validate({**login, "ca_file": tmp_path / "ca.pem"})
    HttpPipeConnector(url, verifying, registry_url)
    with pytest.raises(ValueError, match="no https"):
        HttpPipeConnector("http://root.example:8080", verifying, registry_url)


def test_the_choice_of_an_administrator_is_told_the_login() -> None:
    url = "https://root.example:8080"
    HttpPipeConnector(url, PipeSettings.model_validate({**LOGIN, "parent_url": url}))
    with pytest.raises(ValidationError, match="plain text"):
        PipeSettings.model_validate({**LOGIN, "parent_url": "http://root.example:8080"})
