from penstock.client.push.async_client import AsyncBrokerClient as AsyncBrokerClient
from penstock.client.push.client import BrokerClient as BrokerClient
from penstock.client.push.message import Message as Message
from penstock.consumers.decorators import consumer as consumer
from penstock.consumers.decorators import error_handler as error_handler
from penstock.consumers.decorators import message_handler as message_handler
from penstock.consumers.decorators import retry_policy as retry_policy
from penstock.consumers.policy import ErrorAction as ErrorAction
from penstock.sdk.admin.async_client import AsyncAdmin as AsyncAdmin
from penstock.sdk.admin.client import Admin as Admin
from penstock.sdk.async_consumer import AsyncConsumer as AsyncConsumer
from penstock.sdk.async_producer import AsyncProducer as AsyncProducer
from penstock.sdk.consumer import Consumer as Consumer
from penstock.sdk.producer import Producer as Producer

__version__: str
__all__: list[str]
