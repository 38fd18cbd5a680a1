"""The node, for the whole run, and users of its own for each test."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from kio.schema.errors import ErrorCode

from tests.secured.node import SecuredNode
from tests.support.raw_client import unique_name
from tests.support.user_client import SHA_256, SHA_512, alter, upsertion

_numbers = itertools.count()


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredNode]:
    process = SecuredNode(tmp_path_factory.mktemp("secured"))
    process.prepare()
    process.start()
    yield process
    process.stop()


@pytest.fixture
def source() -> str:
    """An address of the test's own to come from: failures of others at an address hold its clients off."""
    number = next(_numbers)
    return f"127.1.{number // 250}.{number % 250 + 1}"


@pytest.fixture
def user(node: SecuredNode) -> str:
    """A user of the test's own, whose password is its name: failures of other tests do not hold it off."""
    name = unique_name("user")
    with node.admin() as admin:
        for mechanism in (SHA_256, SHA_512):
            assert set(alter(admin, upsertion(name, mechanism, password=name)).values()) == {ErrorCode.none}
    return name
