"""Errors of the push client. The text of a refusal is the broker's own."""

from __future__ import annotations

from penstock.model.errors import ErrorCode


class BrokerClientError(Exception):
    """The base of all of them."""


class NotDone(Exception):
    """Raised by handlers: the message goes back to the broker, without an error in the log."""


class NotConnected(BrokerClientError):
    """`connect` was not called, or could not reach the broker."""


class ClientClosed(NotConnected):
    """`disconnect` was called; `connect` starts again."""


class RequestTimeout(BrokerClientError, TimeoutError):
    """No answer in time: the request may have been carried out or not."""


class ProtocolError(BrokerClientError):
    """The broker does not speak the push protocol, or reports that this client does not."""


class WrongProtocol(ProtocolError, NotConnected):
    """`security.protocol` does not fit: the port wants TLS or a login. Or perhaps it does not take a certificate."""


class LoginFailed(ProtocolError, NotConnected):
    """The broker does not let this client in, or does not prove that it knows the password itself."""


class BrokerRefused(BrokerClientError):
    """The broker answered with an error; nothing has changed there. `code` is Kafka's."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class UnknownTopic(BrokerRefused):
    """There is no such topic, or the topic has no such partition."""


class UnknownSubscription(BrokerRefused):
    """There is no such subscription."""


class TopicExists(BrokerRefused):
    """The topic exists with another number of partitions."""


class SubscriptionConflict(BrokerRefused):
    """The subscription exists for another topic, or its name is that of a Kafka consumer group that is in use."""


class PublisherFenced(BrokerRefused):
    """A newer client with the same client id publishes: give each a client id of its own."""


_KINDS: dict[int, type[BrokerRefused]] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: UnknownTopic,
    ErrorCode.INCONSISTENT_GROUP_PROTOCOL: SubscriptionConflict,
    ErrorCode.TOPIC_ALREADY_EXISTS: TopicExists,
    ErrorCode.INVALID_PRODUCER_EPOCH: PublisherFenced,
    ErrorCode.GROUP_ID_NOT_FOUND: UnknownSubscription,
}


def refusal(code: int, text: str) -> BrokerRefused:
    """The exception for an ERROR frame."""
    return _KINDS.get(code, BrokerRefused)(code, text)
