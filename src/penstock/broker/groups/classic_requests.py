"""The requests of members of classic groups: JoinGroup, SyncGroup, Heartbeat and LeaveGroup.

The driver of the classic protocol: a request finds its group, asks the state machine, and waits for its reply. Failures
are KafkaErrors; where their code goes in an answer differs by API and version and is up to the handlers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from penstock.broker.groups.claim import Identity
from penstock.broker.groups.classic.exchange import JoinAnswer, JoinRequest, LeaveAnswer, SyncAnswer, SyncRequest
from penstock.broker.groups.classic.group import ClassicGroup
from penstock.broker.groups.classic.members import protocols_bytes
from penstock.broker.groups.log.shard import Shard
from penstock.broker.groups.log.shards import Shards
from penstock.broker.groups.record_kind import KEY_STRING_BYTES_MAX
from penstock.config.settings import GroupSettings
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.limits import GROUP_MEMBER_BYTES_MAX
from penstock.runtime.turns import Turns

NAME_BYTES_MAX = KEY_STRING_BYTES_MAX - 64  # a member id is a name and a UUID
LEAVING_AT_ONCE = 500


class ClassicRequests:
    """One method for each API of the classic protocol."""

    def __init__(self, shards: Shards, settings: GroupSettings) -> None:
        self._shards = shards
        self._settings = settings

    async def join(self, group_id: str, request: JoinRequest) -> JoinAnswer:
        if not group_id:
            raise KafkaError(ErrorCode.INVALID_GROUP_ID)
        shortest, longest = self._settings.session_timeout_min_ms, self._settings.session_timeout_max_ms
        if not shortest <= request.session_timeout_ms <= longest:
            raise KafkaError(ErrorCode.INVALID_SESSION_TIMEOUT)
        _check_lengths(request)
        shard = await self._shards.to_write(group_id)
        group = shard.groups.get(group_id)
        is_new = group is None
        if group is None:
            if request.member_id:
                return JoinAnswer(error=ErrorCode.UNKNOWN_MEMBER_ID, member_id=request.member_id)
            is_only_named = request.needs_member_id and request.instance_id is None  # its bytes come with the next join
            member_bytes = 0 if is_only_named else protocols_bytes(request.protocols)
            group = self._shards.create(shard, group_id, member_bytes=member_bytes)
        if not isinstance(group, ClassicGroup):
            return JoinAnswer(error=ErrorCode.INCONSISTENT_GROUP_PROTOCOL, member_id=request.member_id)
        ticket: asyncio.Future[JoinAnswer] = asyncio.get_running_loop().create_future()
        effects = group.join(request, ticket, self._shards.now())
        if is_new and not effects.records:
            group.store_new(effects)
        shard.apply(group, effects)
        del request, effects  # the wait may be long
        return await ticket

    async def sync(self, group_id: str, request: SyncRequest) -> SyncAnswer:
        shard, group = self._find(group_id)
        ticket: asyncio.Future[SyncAnswer] = asyncio.get_running_loop().create_future()
        shard.apply(group, group.sync(request, ticket, self._shards.now()))
        del request  # the wait may be long
        return await ticket

    def heartbeat(self, group_id: str, who: Identity, generation: int) -> ErrorCode:
        _, group = self._find(group_id)
        return group.heartbeat(who, generation, self._shards.now())

    async def leave(self, group_id: str, leaving: Sequence[Identity]) -> tuple[ErrorCode, ...]:
        """One error code for each of `leaving`. Very many leave some at a time, with turns for other requests."""
        shard, group = self._find(group_id)
        codes: list[ErrorCode] = []
        turns = Turns()
        for first in range(0, len(leaving), LEAVING_AT_ONCE):
            ticket: asyncio.Future[LeaveAnswer] = asyncio.get_running_loop().create_future()
            some = leaving[first : first + LEAVING_AT_ONCE]
            shard.apply(group, group.leave(some, ticket, self._shards.now()))
            codes += (await ticket).codes
            await turns.pause()
        return tuple(codes)

    def _find(self, group_id: str) -> tuple[Shard, ClassicGroup]:
        """The classic group of that id. UNKNOWN_MEMBER_ID if it is of another type: it cannot have such a member."""
        if not group_id:
            raise KafkaError(ErrorCode.INVALID_GROUP_ID)
        found = self._shards.find(group_id)
        if found is None or not isinstance(found[1], ClassicGroup):
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        return found[0], found[1]


def _check_lengths(request: JoinRequest) -> None:
    """Everything that a record writes with an int16 length must fit; newer versions of JoinGroup allow more."""
    names = [request.client_id, request.instance_id or "", request.protocol_type]
    names += [name for name, _ in request.protocols]
    if any(len(name.encode()) > NAME_BYTES_MAX for name in names):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"a name has more than {NAME_BYTES_MAX} bytes")
    if sum(len(metadata) + len(name) for name, metadata in request.protocols) > GROUP_MEMBER_BYTES_MAX:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"metadata has more than {GROUP_MEMBER_BYTES_MAX} bytes")
