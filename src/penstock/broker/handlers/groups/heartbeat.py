"""Heartbeat v0-4: a member lives, and hears whether it must join again. v3 knows static members."""

from __future__ import annotations

from penstock.broker.broker import Broker
from penstock.broker.groups.claim import Identity
from penstock.broker.request import Request
from penstock.model.errors import KafkaError
from penstock.protocol.kafka.messages import Entity
from penstock.protocol.kafka.versioned import field


def handle(broker: Broker, request: Request[Entity]) -> Entity:
    body = request.body
    who = Identity(body.member_id, field(body, "group_instance_id"))
    try:
        code = broker.groups.classic.heartbeat(body.group_id, who, body.generation_id)
    except KafkaError as error:
        code = error.code
    return request.reply.HeartbeatResponse(throttle_time=0, error_code=code)
