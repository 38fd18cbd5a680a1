"""Heartbeat v0-4: a member lives, and hears whether it must join again. v3 knows static members."""

from __future__ import annotations

from penstock.broker.broker import Broker
from penstock.broker.call import Call
from penstock.broker.groups.group import Identity
from penstock.model.errors import KafkaError
from penstock.protocol.kafka.messages import Entity
from penstock.protocol.kafka.versioned import field


def handle(broker: Broker, call: Call) -> Entity:
    request = call.request
    who = Identity(request.member_id, field(request, "group_instance_id"))
    try:
        code = broker.groups.heartbeat(request.group_id, who, request.generation_id)
    except KafkaError as error:
        code = error.code
    return call.reply.HeartbeatResponse(throttle_time=0, error_code=code)
