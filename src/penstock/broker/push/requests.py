"""Requests of push clients for topics, subscriptions and logins: a method per type of frame, answered when done."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from penstock.broker.delivery.core.member import Member
from penstock.broker.delivery.live_subscription import LiveSubscription
from penstock.broker.delivery.subscriptions import Subscriptions
from penstock.broker.operations.topics import TopicOperations
from penstock.broker.shares import Share
from penstock.cluster.controller.new_topic import NewTopic
from penstock.cluster.partitions import PartitionTable
from penstock.cluster.topics import Topic, TopicTable
from penstock.config.settings import PushSettings
from penstock.model.counted import counted
from penstock.model.errors import ErrorCode, KafkaError
from penstock.protocol.push import messages as m
from penstock.protocol.push.frames import Frame, FrameType
from penstock.security.access import Access
from penstock.security.resources import Operation

if TYPE_CHECKING:
    from penstock.broker.push.connection import PushConnection


class Requests:
    """The requests of all connections."""

    def __init__(
        self,
        *,
        subscriptions: Subscriptions,
        topics: TopicOperations,
        table: TopicTable,
        partitions: PartitionTable,
        access: Access,
        settings: PushSettings,
    ) -> None:
        self._subscriptions = subscriptions
        self._topics = topics
        self._table = table
        self._partitions = partitions
        self._access = access
        self._settings = settings
        self._share = Share(access, settings.subscriptions_max, subscriptions.is_known, _too_many)

    async def serve(self, connection: PushConnection, frame: Frame, request: m.Payload) -> None:
        """Serve the request in a frame of `SERVED`. KafkaError refuses it, and nothing has changed.

        LoginRefused ends the connection, too.
        """
        answer = await _HANDLERS[frame.type](self, connection, request)
        if answer is not None:
            connection.send(m.encode(answer, frame.message_id))

    def _check_read(self, connection: PushConnection, group: str, topic: str) -> None:
        """Check the rights to a subscription: it is a group that reads a topic, and needs the rights of one."""
        self._access.check_group(connection.session, Operation.READ, group)
        self._access.check_topic(connection.session, Operation.READ, topic)

    def _check_known(self, connection: PushConnection, name: str) -> None:
        """Check the rights to an existing subscription; that of the group first, which says whether there is one."""
        self._access.check_group(connection.session, Operation.READ, name)
        self._access.check_topic(connection.session, Operation.READ, self._subscriptions.find(name).topic)

    async def _authenticate(self, connection: PushConnection, request: m.Authenticate) -> m.AuthenticateAck:
        if connection.login is None:
            raise KafkaError(
                ErrorCode.ILLEGAL_SASL_STATE,
                "this listener asks for no login; set security.protocol to PLAINTEXT, or to SSL if it has TLS",
            )
        return await connection.login.take(request)

    async def _create_topic(self, connection: PushConnection, request: m.CreateTopic) -> m.CreateTopicAck:
        """Create a topic; with 0 partitions, only look up an existing one."""
        session = connection.session
        known = self._table.get(request.topic)
        if known is not None or request.partitions == 0:
            known = self._topics.find(session, request.topic)
        if known is None and request.partitions > 0:
            configs = self._subscriptions.configs_of_dead_letters(request.topic)
            (made,) = await self._topics.create(
                session, [NewTopic(name=request.topic, partition_count=request.partitions, configs=configs)]
            )
            if isinstance(made, Topic):
                return m.CreateTopicAck(made.partition_count, True)
            if made.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                raise made
            known = self._table.get(request.topic)
            if known is None:
                raise made  # its name collides with that of another topic
        if known is None:
            raise _cannot_be_created(request)
        if request.partitions not in (0, known.partition_count):
            raise KafkaError(
                ErrorCode.TOPIC_ALREADY_EXISTS,
                f"topic {known.name!r} already exists, with {counted(known.partition_count, 'partition')};"
                " use that number, or another name",
            )
        return m.CreateTopicAck(known.partition_count, False)

    async def _create_subscription(
        self, connection: PushConnection, request: m.CreateSubscription
    ) -> m.CreateSubscriptionAck:
        self._check_read(connection, request.name, request.topic)
        with self._share.taken(connection.session, request.name):
            created = await self._subscriptions.create(
                request.name,
                request.topic,
                request.start,
                by_key=request.delivery is m.Delivery.KEY,
                owner=connection.session.user,
            )
        return m.CreateSubscriptionAck(created)

    async def _delete_subscription(self, connection: PushConnection, request: m.DeleteSubscription) -> m.PlainAck:
        self._access.check_group(connection.session, Operation.DELETE, request.name)
        self._leave(connection, request.name)
        await self._subscriptions.delete(request.name)
        return m.PlainAck(FrameType.DELETE_SUBSCRIPTION)

    async def _subscribe(self, connection: PushConnection, request: m.Subscribe) -> m.SubscribeAck | None:
        """Make the connection a member; None if the client left meanwhile."""
        name = request.subscription or request.group
        if not name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "name a subscription, or a topic and a group")
        if name in connection.memberships:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"this connection is already a member of subscription {name!r}")
        most = self._settings.subscriptions_per_connection_max
        if len(connection.memberships) >= most:
            raise KafkaError(
                ErrorCode.POLICY_VIOLATION,
                f"a connection can be a member of at most {counted(most, 'subscription')}; open another connection",
            )
        connection.session = connection.session.with_client_id(request.client_id or None)
        if request.subscription:
            self._check_known(connection, name)
        else:
            self._check_read(connection, name, request.topic)
        if not request.subscription:
            by_key, owner = request.delivery is m.Delivery.KEY, connection.session.user
            with self._share.taken(connection.session, name):
                await self._subscriptions.create(name, request.topic, request.start, by_key=by_key, owner=owner)
        credit = min(request.credit or self._settings.credit, self._settings.credit_max)
        per_frame = min(request.messages_per_frame or self._settings.messages_per_frame, credit, 1000)
        member = Member(
            f"{request.client_id or 'push'}-{connection.connection_id}",
            client_id=request.client_id,
            host=connection.session.host,
            owner=connection.session.user,
            credit=credit,
            messages_per_frame=per_frame,
            is_blocked=connection.is_full,
        )
        live = await self._subscriptions.join(name, member, connection)
        try:
            self._check_read(connection, name, live.topic)  # again: it may have waited for a while
        except KafkaError:
            self._subscriptions.leave(live, member)
            raise
        if connection.is_closing:  # the client left while it waited
            self._subscriptions.leave(live, member)
            return None
        connection.memberships[name] = (live, member)
        return m.SubscribeAck(name, credit, per_frame)

    async def _unsubscribe(self, connection: PushConnection, request: m.Unsubscribe) -> m.PlainAck:
        self._access.check_group(connection.session, Operation.READ, request.name)
        if not self._leave(connection, request.name):
            raise _not_in(request.name)
        return m.PlainAck(FrameType.UNSUBSCRIBE)

    def _leave(self, connection: PushConnection, name: str) -> bool:
        membership = connection.memberships.pop(name, None)
        if membership is not None:
            self._subscriptions.leave(*membership)
        return membership is not None

    async def _commit_offset(self, connection: PushConnection, request: m.CommitOffset) -> m.PlainAck:
        self._access.check_group(connection.session, Operation.READ, request.subscription)
        live, _ = self._membership(connection, request.subscription)
        partition = self._partitions.get(live.topic, request.partition)
        if not 0 <= request.offset <= partition.high_watermark or not live.watches(request.partition):
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"offset {request.offset} of partition {request.partition}; it has 0 to {partition.high_watermark}",
            )
        await self._subscriptions.commit_offset(live, request.partition, request.offset)
        return m.PlainAck(FrameType.COMMIT_OFFSET)

    async def _reset(self, connection: PushConnection, request: m.Reset) -> m.PlainAck:
        if request.refresh_id != m.ASKED_REFRESH or request.topics:
            text = "a client asks for a refresh with RESET of refresh id 0 and no topics"
            raise KafkaError(ErrorCode.INVALID_REQUEST, text)
        self._check_known(connection, request.subscription)
        await self._subscriptions.reset(request.subscription)
        return m.PlainAck(FrameType.RESET)

    async def _ready(self, connection: PushConnection, request: m.Ready) -> m.PlainAck:
        self._access.check_group(connection.session, Operation.READ, request.subscription)
        membership = self._membership(connection, request.subscription)
        await self._subscriptions.ready(*membership, request.refresh_id)
        return m.PlainAck(FrameType.READY)

    def _membership(self, connection: PushConnection, name: str) -> tuple[LiveSubscription, Member]:
        membership = connection.memberships.get(name)
        if membership is None:
            raise _not_in(name)
        return membership


_Handler = Callable[[Requests, "PushConnection", Any], Awaitable[m.Payload | None]]
_HANDLERS: Final[Mapping[FrameType, _Handler]] = {
    FrameType.AUTHENTICATE: Requests._authenticate,
    FrameType.CREATE_TOPIC: Requests._create_topic,
    FrameType.CREATE_SUBSCRIPTION: Requests._create_subscription,
    FrameType.DELETE_SUBSCRIPTION: Requests._delete_subscription,
    FrameType.SUBSCRIBE: Requests._subscribe,
    FrameType.UNSUBSCRIBE: Requests._unsubscribe,
    FrameType.COMMIT_OFFSET: Requests._commit_offset,
    FrameType.RESET: Requests._reset,
    FrameType.READY: Requests._ready,
}
SERVED: Final = frozenset(_HANDLERS)
"""The frames that are served one at a time: requests for topics and subscriptions, and the steps of a login."""


def _cannot_be_created(request: m.CreateTopic) -> KafkaError:
    """The refusal for a missing topic. Clients ask for 0 partitions to learn the number of an existing topic."""
    if request.partitions:
        return KafkaError(ErrorCode.INVALID_PARTITIONS, f"a topic has at least 1 partition, not {request.partitions}")
    name = request.topic
    text = f"there is no topic {name!r}; create it, for instance with `penstock push create-topic {name}`"
    return KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text)


def _too_many(most: int) -> KafkaError:
    text = f"{most} subscriptions are the most of one principal; delete some, or raise push.subscriptions_max"
    return KafkaError(ErrorCode.POLICY_VIOLATION, text)


def _not_in(name: str) -> KafkaError:
    return KafkaError(
        ErrorCode.GROUP_ID_NOT_FOUND, f"this connection is not in subscription {name!r}; SUBSCRIBE comes first"
    )
