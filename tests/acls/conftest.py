"""A node with rules for each module."""

from collections.abc import Iterator

import pytest

from tests.acls.world import AclWorld, running_world
from tests.support.acl_client import AclClient


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AclWorld]:
    yield from running_world(tmp_path_factory.mktemp("acls") / "data")


@pytest.fixture
def acls(world: AclWorld) -> AclClient:
    client = world.acls()
    client.delete_all()
    return client
