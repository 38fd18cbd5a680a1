"""The Python SDK: producers, consumers and an admin client for Penstock and any other Kafka broker, on confluent-kafka.

    from penstock import Producer, Consumer, Admin

`penstock` loads the classes from here when they are first asked for; formats, errors and the values that clients take
and return are imported from here. docs/sdk.md is the guide.
"""

from penstock.model.topic_partition import TopicPartition
from penstock.sdk.admin.async_client import AsyncAdmin
from penstock.sdk.admin.client import Admin
from penstock.sdk.admin.values import (
    ConfigValue,
    GroupInfo,
    GroupListing,
    GroupMember,
    GroupOffset,
    PartitionInfo,
    TopicInfo,
    TransactionInfo,
    TransactionListing,
)
from penstock.sdk.async_consumer import AsyncConsumer, AsyncTransaction
from penstock.sdk.async_producer import AsyncProducer
from penstock.sdk.avro import Avro
from penstock.sdk.consumer import Consumer
from penstock.sdk.delivery import Delivery, DeliveryFuture
from penstock.sdk.errors import (
    AlreadyExists,
    BrokerError,
    ClientError,
    ClosedError,
    CommitFailed,
    DeserializationError,
    Fenced,
    GroupInUse,
    InvalidRequest,
    MessageTooLarge,
    NotAllowed,
    NotFound,
    QueueFull,
    SerializationError,
    SettingsError,
    StateError,
    TransactionAborted,
    TransactionUnknown,
    Undelivered,
    Unreachable,
)
from penstock.sdk.formats import Bytes, Format, Json, Model, Text
from penstock.sdk.options import ClientOptions, ConsumerOptions, ProducerOptions
from penstock.sdk.producer import Producer
from penstock.sdk.record import Record
from penstock.sdk.transaction import Transaction

__all__ = [
    "Admin",
    "AlreadyExists",
    "AsyncAdmin",
    "AsyncConsumer",
    "AsyncProducer",
    "AsyncTransaction",
    "Avro",
    "BrokerError",
    "Bytes",
    "ClientError",
    "ClientOptions",
    "ClosedError",
    "CommitFailed",
    "ConfigValue",
    "Consumer",
    "ConsumerOptions",
    "Delivery",
    "DeliveryFuture",
    "DeserializationError",
    "Fenced",
    "Format",
    "GroupInUse",
    "GroupInfo",
    "GroupListing",
    "GroupMember",
    "GroupOffset",
    "InvalidRequest",
    "Json",
    "MessageTooLarge",
    "Model",
    "NotAllowed",
    "NotFound",
    "PartitionInfo",
    "Producer",
    "ProducerOptions",
    "QueueFull",
    "Record",
    "SerializationError",
    "SettingsError",
    "StateError",
    "Text",
    "TopicInfo",
    "TopicPartition",
    "Transaction",
    "TransactionAborted",
    "TransactionInfo",
    "TransactionListing",
    "TransactionUnknown",
    "Undelivered",
    "Unreachable",
]
