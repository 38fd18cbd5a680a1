"""One user takes as many connections as it can get: others come in all the same, at every door."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
import yaml
from kio.schema.errors import ErrorCode

from penstock.cluster.users import add_user
from penstock.node.security.offline import offline_metadata
from penstock.security.users.credential import ScramMechanism
from tests.secured.node import ADMIN, PASSWORD, SecuredNode
from tests.support.push_login import PLAIN, log_in
from tests.support.wire import ConnectionClosed
from tests.web_login.secured import basic

pytestmark = pytest.mark.feature("F-06")

CONNECTIONS_MAX = 64
CROWD = 80
FEW, FEW_PASSWORD = "few", "few-secret"
Login = Callable[["ScarceNode", ExitStack, str, str], Any]


class ScarceNode(SecuredNode):
    """A node with few connections, and a user without rights."""

    def prepare(self) -> None:
        super().prepare()
        with offline_metadata(self.data_directory) as store:
            add_user(store, FEW, FEW_PASSWORD, ScramMechanism, 4096)
        settings = yaml.safe_load(self._config_file.read_text())
        settings["limits"] = {"connections_max": CONNECTIONS_MAX}
        self._config_file.write_text(yaml.safe_dump(settings))


@pytest.fixture(scope="module")
def scarce(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScarceNode]:
    process = ScarceNode(Path(tmp_path_factory.mktemp("scarce")))
    process.prepare()
    process.start()
    yield process
    process.stop()


def by_kafka(node: ScarceNode, stack: ExitStack, user: str, password: str) -> None:
    client = stack.enter_context(node.kafka())
    assert client.plain(user, password).error_code == ErrorCode.none


def by_push(node: ScarceNode, stack: ExitStack, user: str, password: str) -> None:
    client = stack.enter_context(node.push())
    log_in(client, user, PLAIN, password)


def by_web(node: ScarceNode, stack: ExitStack, user: str, password: str) -> None:
    client = stack.enter_context(closing(node.web()))
    assert client.ask("/api/v1/session", basic(user, password)).status == 200


@pytest.mark.parametrize("crowd", [by_kafka, by_push, by_web])
def test_others_come_in(scarce: ScarceNode, crowd: Login) -> None:
    with ExitStack() as stack:
        for _ in range(CROWD):
            try:
                crowd(scarce, stack, FEW, FEW_PASSWORD)
            except (OSError, ConnectionClosed):
                break  # as many as there may be
        for login in (by_kafka, by_push, by_web):
            for _ in range(5):
                login(scarce, stack, ADMIN, PASSWORD)
