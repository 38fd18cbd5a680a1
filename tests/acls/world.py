"""A node with rules and several principals, without a login: each principal has an address of the loopback network.

The node runs in a thread of the test's process, with its real doors; clients connect from the address of the principal
that they are.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import uvloop

from penstock.cluster.controller.acls_frontend import stored_rules
from penstock.config.settings import Settings
from penstock.model.errors import ErrorCode
from penstock.node.node import Node
from penstock.protocol.push import messages as m
from penstock.security.access import Access
from penstock.security.acl.standard import StandardAuthorizer
from penstock.security.authenticator import Credentials
from penstock.security.principal import Principal
from penstock.security.session import Session
from penstock.storage.metadata.store import MetadataStore
from tests.support.acl_client import AclClient
from tests.support.push_client import PushClient, PushRefused
from tests.support.raw_client import RawClient
from tests.support.waiting import wait_until

ADMIN = "admin"
ADDRESSES = {ADMIN: "127.0.0.1", "alice": "127.0.0.2", "bob": "127.0.0.3", "carol": "127.0.0.4"}
_NAMES = {address: name for name, address in ADDRESSES.items()}
INTERNAL_PARTITIONS = 5
"""Of each topic of the broker's own, as `KafkaProcess` has it: lists of all topics show them."""
HOST = "127.0.0.1"
START_SECONDS = 60.0
NOT_YET = (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR)


class ByAddress:
    """An authenticator that knows principals by where they come from."""

    def authenticate(self, session: Session, credentials: Credentials) -> Session:
        return session.with_principal(Principal("User", _NAMES[session.host]))

    def admit(self, session: Session, request: str) -> None:
        raise AssertionError("every session is authenticated when it begins")


class AclWorld:
    """A running node, and clients of it by principal."""

    def __init__(self, data_dir: Path, **sections: Any) -> None:
        self.authorizer = StandardAuthorizer([f"User:{ADMIN}"])
        settings = {
            "node": {"data_dir": data_dir},
            "kafka": {"host": HOST, "port": 0},
            "push": {"host": HOST, "port": 0},
            "http": {"host": HOST, "port": 0},
            "storage": {"engine": "memory"},
            "groups": {"initial_rebalance_delay_ms": 0, "offsets_topic_partitions": INTERNAL_PARTITIONS},
            "transactions": {"topic_partitions": INTERNAL_PARTITIONS},
            **sections,
        }
        self.node = Node(Settings.model_validate(settings), build_access=self._access)
        self._clients = contextlib.ExitStack()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._started = threading.Event()
        self._thread = threading.Thread(target=uvloop.run, args=(self._run(),), daemon=True)

    def _access(self, store: MetadataStore) -> Access:
        self.authorizer.add(stored_rules(store.acls))
        return Access(ByAddress(), self.authorizer)

    async def _run(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        try:
            await self.node.start()
        finally:
            self._started.set()
        await self._stop.wait()
        await self.node.stop()

    def __enter__(self) -> AclWorld:
        self._thread.start()
        assert self._started.wait(START_SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        self._clients.close()
        assert self._loop is not None
        assert self._stop is not None
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(START_SECONDS)
        assert not self._thread.is_alive()

    def on_loop(self, act: Callable[[], Any]) -> Any:
        """The result of a function, called where the node runs."""

        async def call() -> Any:
            return act()

        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(call(), self._loop).result(START_SECONDS)

    # --- clients -----------------------------------------------------------------------------------------------------

    def client(self, principal: str = ADMIN) -> RawClient:
        client = RawClient(HOST, self.node.kafka_port, source=ADDRESSES[principal])
        return self._clients.enter_context(client)

    def acls(self) -> AclClient:
        return AclClient(self.client())

    def push(self, principal: str) -> PushClient:
        return self._clients.enter_context(PushClient(self.node.push_port, source=ADDRESSES[principal]))

    def member(self, principal: str, topic: str, group: str) -> PushClient:
        """A member of a subscription, as soon as its coordinator is there."""

        def join() -> PushClient | None:
            client = self.push(principal)
            try:
                client.ask(m.Subscribe("", topic, group))
            except PushRefused as refused:
                if refused.code in NOT_YET:
                    return None
                raise
            return client

        found = wait_until(join, what=f"{principal} joins {group}")
        assert found is not None
        return found

    def metric(self, name: str) -> float:
        status, page = self.http(ADMIN, "GET", "/metrics")
        assert status == http.HTTPStatus.OK
        return next(float(line.split()[-1]) for line in page.decode().splitlines() if line.startswith(f"{name} "))

    def http(self, principal: str, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        """Status and body of an answer."""
        connection = http.client.HTTPConnection(
            HOST, self.node.http_port, timeout=30, source_address=(ADDRESSES[principal], 0)
        )
        with contextlib.closing(connection):
            headers = {"Content-Type": "application/json"} if body and body[:1] in b"[{" else {}
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()


def running_world(data_dir: Path) -> Iterator[AclWorld]:
    with AclWorld(data_dir) as world:
        yield world
