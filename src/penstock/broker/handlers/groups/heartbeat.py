"""Heartbeat (key 12, v0–4): keep a member in its group, and tell it whether to join again.

Behaviour:
- REBALANCE_IN_PROGRESS tells the member to join again; its session is extended all the same.

Differs from Kafka: no.

Version notes:
- v3 adds static members.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.broker.broker import Broker
from penstock.broker.groups.claim import Identity
from penstock.broker.request import Request
from penstock.model.errors import KafkaError
from penstock.protocol.kafka.versioned import field
from penstock.security.resources import Operation

if TYPE_CHECKING:
    from penstock.protocol.kafka.replies.heartbeat import HeartbeatBuilders, HeartbeatResponse
    from penstock.protocol.kafka.requests.heartbeat import HeartbeatRequest

    Heartbeat = Request[HeartbeatRequest, HeartbeatBuilders]


def handle(broker: Broker, request: Heartbeat) -> HeartbeatResponse:
    body = request.body
    who = Identity(body.member_id, field(body, "group_instance_id"))
    try:
        broker.access.check_group(request.session, Operation.READ, request.body.group_id)
        code = broker.groups.classic.heartbeat(body.group_id, who, body.generation_id)
    except KafkaError as error:
        code = error.code
    return request.reply.HeartbeatResponse(error_code=code)
