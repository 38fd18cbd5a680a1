"""CONSUMER_TYPE=plain: messages are stored, and that is all."""

from __future__ import annotations

from penstock.client.push.message import Message
from penstock.consumers.decorators import consumer, message_handler


@consumer(topic="topic", group="group")
class Plain:
    @message_handler
    async def handle(self, messages: list[Message]) -> None:
        """Do nothing: the messages are stored already."""
