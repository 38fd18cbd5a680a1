"""`penstock push`: topics, subscriptions and messages over the push protocol, for shells and scripts."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.kafka.client import parse_repeated
from penstock.cli.kafka.client_settings import client_settings
from penstock.cli.kafka.message_text import INT32_MAX
from penstock.cli.push import reset
from penstock.cli.push.listen import Shape, listen
from penstock.cli.terminal.errors import CommandError, ExitCode
from penstock.cli.terminal.output import Output, note, print_json

if TYPE_CHECKING:
    from penstock.client.push.client import BrokerClient

DEFAULT_HOST, DEFAULT_PORT = "localhost", 9999

app = typer.Typer(no_args_is_help=True, help="Publish and subscribe over the push protocol.")
reset.register(app)

Host = Annotated[str, typer.Option("--host", metavar="ADDR", help="Broker to talk to.")]
Port = Annotated[int, typer.Option("--port", min=1, max=65535, help="Its push port; its Kafka port will do, too.")]
ClientId = Annotated[str | None, typer.Option("--client-id", help="Default: one of its own.")]
Topic = Annotated[str, typer.Argument(metavar="TOPIC")]
Subscription = Annotated[str, typer.Argument(metavar="NAME")]
Offset = Annotated[
    str, typer.Option("--offset", metavar="WHERE", help="An offset (0 is the first message), earliest or latest.")
]
ChangeOutput = Annotated[Output, typer.Option("--output", "-o", help="A sentence on stderr, or json.")]
Count = Annotated[int | None, typer.Option("--count", "-n", min=1, help="Leave after so many messages.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Offset, time, key and properties, too.")]
Lines = Annotated[Shape, typer.Option("--output", "-o", help="Bodies, or an object a line.")]


@app.command("create-topic")
def create_topic(
    name: Topic,
    partitions: Annotated[int, typer.Option("--partitions", "-p", min=1, max=INT32_MAX)] = 1,
    output: ChangeOutput = Output.TABLE,
    host: Host = DEFAULT_HOST,
    port: Port = DEFAULT_PORT,
) -> None:
    """Create a topic. One that exists with as many partitions is no error."""
    with connected(host, port) as client:
        created = client.create_topic(name, partitions)
    _tell(output, {"topic": name, "created": created}, f"topic {name} {'created' if created else 'exists already'}")


@app.command("create-subscription")
def create_subscription(
    name: Subscription,
    topic: Topic,
    offset: Offset = "0",
    by_key: Annotated[bool, typer.Option("--by-key", help="Keep the messages of a key on one member.")] = False,
    output: ChangeOutput = Output.TABLE,
    host: Host = DEFAULT_HOST,
    port: Port = DEFAULT_PORT,
) -> None:
    """Create a subscription of a topic. One that exists for the same topic is no error."""
    start = parse_offset(offset)
    with connected(host, port) as client:
        created = client.create_subscription(name, topic, start, delivery="key" if by_key else "message")
    state = "created" if created else "exists already"
    _tell(output, {"subscription": name, "topic": topic, "created": created}, f"subscription {name} of {topic} {state}")


@app.command("delete-subscription")
def delete_subscription(
    name: Subscription,
    output: ChangeOutput = Output.TABLE,
    host: Host = DEFAULT_HOST,
    port: Port = DEFAULT_PORT,
) -> None:
    """Delete a subscription and its position; the topic stays as it is."""
    with connected(host, port) as client:
        client.delete_subscription(name)
    _tell(output, {"subscription": name, "deleted": True}, f"subscription {name} deleted")


@app.command()
def publish(
    topic: Topic,
    text: Annotated[str, typer.Argument(metavar="TEXT")],
    key: Annotated[str | None, typer.Option("--key", "-k", help="Messages of a key stay in order.")] = None,
    properties: Annotated[
        list[str] | None, typer.Option("--property", "-P", metavar="NAME=VALUE", help="Any number of them.")
    ] = None,
    partition: Annotated[int | None, typer.Option("--partition", "-p", min=0, help="Default: by key.")] = None,
    client_id: ClientId = None,
    output: ChangeOutput = Output.TABLE,
    host: Host = DEFAULT_HOST,
    port: Port = DEFAULT_PORT,
) -> None:
    """Publish a message, and wait until it is on the broker's disk."""
    pairs = parse_repeated(properties, "--property")
    with connected(host, port, client_id) as client:
        stored = client.publish(topic, text, key, pairs, partition=partition)
    _tell(output, stored._asdict(), f"{topic}-{stored.partition}@{stored.offset}")


@app.command("join-subscription")
def join_subscription(
    name: Subscription,
    count: Count = None,
    verbose: Verbose = False,
    output: Lines = Shape.TEXT,
    client_id: ClientId = None,
    host: Host = DEFAULT_HOST,
    port: Port = DEFAULT_PORT,
) -> None:
    """Print the messages of a subscription as they come, until Ctrl-C. What is printed is acknowledged."""
    with connected(host, port, client_id) as client:
        listen(client, name, count=count, verbose=verbose, shape=output)


@app.command()
def subscribe(
    topic: Topic,
    offset: Offset = "0",
    group: Annotated[
        str | None,
        typer.Option("--group", "-g", help="Name of the subscription, to come back to. Default: one that ends."),
    ] = None,
    count: Count = None,
    verbose: Verbose = False,
    output: Lines = Shape.TEXT,
    client_id: ClientId = None,
    host: Host = DEFAULT_HOST,
    port: Port = DEFAULT_PORT,
) -> None:
    """Print the messages of a topic as they come, until Ctrl-C, with a subscription that is created for it."""
    start = parse_offset(offset)
    with connected(host, port, client_id) as client:
        name = group or f"{topic}-{client.client_id}"
        client.create_subscription(name, topic, start)
        try:
            listen(client, name, count=count, verbose=verbose, shape=output)
        finally:
            if group is None:
                client.delete_subscription(name)


@contextlib.contextmanager
def connected(host: str, port: int, client_id: str | None = None) -> Iterator[BrokerClient]:
    """A client that leaves in order; what it raises becomes a message and an exit code."""
    from penstock.client.push.client import BrokerClient
    from penstock.client.push.errors import (
        BrokerClientError,
        NotConnected,
        ProtocolError,
        RequestTimeout,
        UnknownSubscription,
        UnknownTopic,
    )

    try:
        with BrokerClient(host, port, client_id, **_times()) as client:
            yield client
    except (UnknownTopic, UnknownSubscription) as error:
        raise CommandError(str(error), ExitCode.NOT_FOUND) from error
    except (NotConnected, RequestTimeout, ProtocolError) as error:
        raise CommandError(str(error), ExitCode.UNREACHABLE) from error
    except BrokerClientError as error:
        raise CommandError(str(error)) from error
    except ValueError as error:  # a name that is too long for the wire
        raise CommandError(str(error), ExitCode.USAGE) from error


def _times() -> dict[str, float]:
    """Those that the section client sets."""
    settings = client_settings("PENSTOCK_CLIENT__")
    if settings is None:
        return {}
    return {
        "request_timeout": settings.client.request_timeout_ms / 1000,
        "heartbeat_interval": settings.client.heartbeat_interval_ms / 1000,
    }


def parse_offset(text: str) -> int | str:
    if text in ("earliest", "latest"):
        return text
    if text.isdecimal() and int(text) < 1 << 63:
        return int(text)
    raise CommandError(f"--offset {text!r} is neither an offset nor earliest or latest", ExitCode.USAGE)


def _tell(output: Output, document: dict[str, object], sentence: str) -> None:
    if output is Output.JSON:
        print_json(document)
    else:
        note(sentence)
