"""Client of the registry: registers, polls, keeps the last answer on disk, notifies subscribers.

The driver around `registry_poller`. It never holds up a start: the topology from disk holds until the registry says
otherwise. aiohttp is loaded in a thread when there is a registry to ask. A new topology is on disk before subscribers
are notified, unless the disk refuses it: then it holds all the same, and a restart begins with the one before.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import random
from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import quote

from pydantic import ValidationError

from penstock.topology.cache import Remembered, TopologyCache
from penstock.topology.http_identity import HttpIdentity, IdentityProblem, detail_of
from penstock.topology.model import Change, Topology
from penstock.topology.registry.bodies import RegistrationBody, TopologyBody
from penstock.topology.registry_poller import Register, RegistryPoller, RegistryState

if TYPE_CHECKING:
    import aiohttp

logger = logging.getLogger(__name__)

TIMEOUT_S = 10.0
ANSWER_BYTES_MAX = 256 * 1024


class TopologyClient:
    """A `TopologySource`. `registration` describes the node; its instance id is filled in here.

    `identity` is how the node shows itself to the registry.
    """

    def __init__(self, url: str, registration: RegistrationBody, cache: TopologyCache, identity: HttpIdentity) -> None:
        remembered = cache.load(registration.node_id)
        self.url = url
        self._registration = registration.model_copy(update={"instance_id": remembered.instance_id})
        self._cache = cache
        self._identity = identity
        self._instance_id = remembered.instance_id
        self._is_kept = remembered.topology is not None
        self.poller = RegistryPoller(
            poll_interval_ms=registration.poll_interval_ms,
            chance=random.random,
            topology=remembered.topology,
        )
        self._listeners: list[Change] = []
        self._asking: asyncio.Task[None] | None = None
        self._session: aiohttp.ClientSession | None = None

    @property
    def current(self) -> Topology | None:
        return self.poller.topology

    def on_change(self, changed: Change) -> Callable[[], None]:
        self._listeners.append(changed)
        return lambda: self._listeners.remove(changed)

    def describe(self) -> str:
        """Describe role, parent and the state of the link to the registry, for the health report."""
        topology, poller = self.current, self.poller
        place = "no role yet"
        if topology is not None:
            parent = f"parent {topology.parent_url}" if topology.parent_url is not None else "no parent"
            place = f"{topology.role}, {parent}, version {topology.version}"
        return f"{place}; registry {self.url} {poller.state}"

    def warning(self) -> str | None:
        if self.poller.problem is None:
            return None
        return f"registry {self.url} is {self.poller.state}: {self.poller.problem}"

    def start(self) -> None:
        self._asking = asyncio.get_running_loop().create_task(self._run(), name="topology")

    async def stop(self) -> None:
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.gather(self._asking, return_exceptions=True)
            self._asking = None

    async def _run(self) -> None:
        await asyncio.to_thread(importlib.import_module, "aiohttp")
        if not self._is_kept:
            await self._keep()  # the instance id, before the registry learns of it
        try:
            while True:
                try:
                    pause_ms = await self._ask()
                except Exception:
                    logger.exception("asking the registry failed")
                    pause_ms = self.poller.unreachable("an error of this node, see its log")
                await asyncio.sleep(pause_ms / 1000)
        finally:
            await self._end_session()

    async def _ask(self) -> float:
        """Send one request and handle its outcome; return the pause after it."""
        import aiohttp

        before, state, problem = self.current, self.poller.state, self.poller.problem
        try:
            if self._session is None:
                self._session = await self._identity.session(self.url, timeout=aiohttp.ClientTimeout(total=TIMEOUT_S))
            status, etag, body = await self._exchange(self._session)
        except (aiohttp.ClientError, TimeoutError, OSError, IdentityProblem) as error:
            pause_ms = self.poller.unreachable(self._identity.reason_of(error))
            await self._end_session()  # the next one reads the certificates again
        else:
            pause_ms = self._take(status, etag, body)
        self._tell_state(state, problem)
        if self.current is not None and self.current != before:
            await self._keep()
            self._tell_listeners(self.current)
        return pause_ms

    async def _end_session(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _exchange(self, session: aiohttp.ClientSession) -> tuple[int, str | None, bytes]:
        question = self.poller.question
        nodes = f"{self.url}/registry/nodes"
        if isinstance(question, Register):
            document = self._registration.model_dump(mode="json", by_alias=True, exclude_none=True)
            request = session.post(nodes, json=document, allow_redirects=False)
        else:
            headers = {"If-None-Match": question.etag} if question.etag is not None else {}
            path = f"{nodes}/{quote(self._registration.node_id, safe='')}/topology"
            parameters = {"instanceId": self._instance_id}
            request = session.get(path, params=parameters, headers=headers, allow_redirects=False)
        async with request as answer:
            body = bytearray()
            async for piece in answer.content.iter_any():
                body += piece
                if len(body) > ANSWER_BYTES_MAX:
                    raise OSError(f"an answer of more than {ANSWER_BYTES_MAX} bytes")
            return answer.status, answer.headers.get("ETag"), bytes(body)

    def _take(self, status: int, etag: str | None, body: bytes) -> float:
        if status == HTTPStatus.NOT_MODIFIED and self.current is not None:
            return self.poller.answered(None, etag)
        if status != HTTPStatus.OK:
            otherwise = f"it answers {status}, but not as a registry; check registry.url"
            return self.poller.refused(status, detail_of(body, otherwise))
        try:
            topology = TopologyBody.model_validate_json(body).topology()
        except ValidationError:
            return self.poller.unreachable("it answers, but not as a registry; check registry.url")
        return self.poller.answered(topology, etag)

    async def _keep(self) -> None:
        try:
            await asyncio.to_thread(self._cache.save, Remembered(self._instance_id, self.current))
        except OSError as error:
            logger.warning("the topology could not be kept on disk, a restart begins with the one before: %s", error)

    def _tell_state(self, before: RegistryState, problem: str | None) -> None:
        """One line for each change: another state, or another reason for it."""
        state = self.poller.state
        if state is before and self.poller.problem == problem:
            return
        if state is RegistryState.REGISTERED:
            logger.info("registered", extra={"registry": self.url})
        else:
            logger.warning("registry %s is %s, the last topology holds: %s", self.url, state, self.poller.problem)

    def _tell_listeners(self, topology: Topology) -> None:
        logger.info(
            "topology", extra={"role": topology.role, "parent": topology.parent_url, "version": topology.version}
        )
        for changed in tuple(self._listeners):
            try:
                changed(topology)
            except Exception:
                logger.exception("a follower of the topology failed")
