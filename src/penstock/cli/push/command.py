"""`penstock push`: create topics and subscriptions, publish and listen over the push protocol."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.kafka.client import parse_repeated
from penstock.cli.kafka.command_config import CommandConfig
from penstock.cli.kafka.message_text import INT32_MAX
from penstock.cli.push import reset
from penstock.cli.push.listen import Shape, listen
from penstock.cli.push.session import DEFAULT_HOST, DEFAULT_PORT, connected
from penstock.cli.terminal.errors import CommandError, ExitCode
from penstock.cli.terminal.output import Output, note, print_json
from penstock.cli.terminal.rights import Resource, Right

if TYPE_CHECKING:
    from penstock.client.push.client import BrokerClient

app = typer.Typer(no_args_is_help=True, help="Publish and subscribe over the push protocol.")
reset.register(app)

Host = Annotated[str, typer.Option("--host", metavar="ADDR", help="Broker to talk to.")]
Port = Annotated[int, typer.Option("--port", min=1, max=65535, help="Its push port, or its Kafka port.")]
ClientId = Annotated[str | None, typer.Option("--client-id", help="Name of the client. Default: a generated one.")]
Topic = Annotated[str, typer.Argument(metavar="TOPIC")]
Subscription = Annotated[str, typer.Argument(metavar="NAME")]
Offset = Annotated[
    str, typer.Option("--offset", metavar="WHERE", help="An offset (0 is the first message), earliest or latest.")
]
ChangeOutput = Annotated[Output, typer.Option("--output", "-o", help="A sentence on stderr, or json.")]
Count = Annotated[int | None, typer.Option("--count", "-n", min=1, help="Stop after this many messages.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Show offset, time, key and properties as well.")]
Lines = Annotated[Shape, typer.Option("--output", "-o", help="Bodies as text, or one JSON object per line.")]


@app.command("create-topic")
def create_topic(
    name: Topic,
    partitions: Annotated[int, typer.Option("--partitions", "-p", min=1, max=INT32_MAX)] = 1,
    output: ChangeOutput = Output.TABLE,
    host: Host = DEFAULT_HOST,
    port: Port = DEFAULT_PORT,
    command_config: CommandConfig = None,
) -> None:
    """Create a topic. An existing one with the same number of partitions is not an error."""
    needs = [Right("Create", Resource.TOPIC, name)]
    with connected(host, port, command_config, act=f"create topic {name}", needs=needs) as client:
        created = client.create_topic(name, partitions)
    _tell(output, {"topic": name, "created": created}, f"topic {name} {'created' if created else 'already exists'}")


@app.command("create-subscription")
def create_subscription(
    name: Subscription,
    topic: Topic,
    offset: Offset = "0",
    by_key: Annotated[bool, typer.Option("--by-key", help="Deliver all messages of a key to the same member.")] = False,
    output: ChangeOutput = Output.TABLE,
    host: Host = DEFAULT_HOST,
    port: Port = DEFAULT_PORT,
    command_config: CommandConfig = None,
) -> None:
    """Create a subscription of a topic. An existing one of the same topic is not an error."""
    start = parse_offset(offset)
    act, needs = f"create subscription {name} of {topic}", _to_read(name, topic)
    with connected(host, port, command_config, act=act, needs=needs) as client:
        created = client.create_subscription(name, topic, start, delivery="key" if by_key else "message")
    state = "created" if created else "already exists"
    _tell(output, {"subscription": name, "topic": topic, "created": created}, f"subscription {name} of {topic} {state}")


@app.command("delete-subscription")
def delete_subscription(
    name: Subscription,
    output: ChangeOutput = Output.TABLE,
    host: Host = DEFAULT_HOST,
    port: Port = DEFAULT_PORT,
    command_config: CommandConfig = None,
) -> None:
    """Delete a subscription and its position. The topic is not changed."""
    needs = [Right("Delete", Resource.GROUP, name)]
    with connected(host, port, command_config, act=f"delete subscription {name}", needs=needs) as client:
        client.delete_subscription(name)
    _tell(output, {"subscription": name, "deleted": True}, f"subscription {name} deleted")


@app.command()
def publish(
    topic: Topic,
    text: Annotated[str, typer.Argument(metavar="TEXT")],
    key: Annotated[
        str | None, typer.Option("--key", "-k", help="Key; messages with the same key stay in order.")
    ] = None,
    properties: Annotated[
        list[str] | None, typer.Option("--property", "-P", metavar="NAME=VALUE", help="A property; may be repeated.")
    ] = None,
    partition: Annotated[int | None, typer.Option("--partition", "-p", min=0, help="Default: by key.")] = None,
    client_id: ClientId = None,
    output: ChangeOutput = Output.TABLE,
    host: Host = DEFAULT_HOST,
    port: Port = DEFAULT_PORT,
    command_config: CommandConfig = None,
) -> None:
    """Publish a message and wait until it is on the broker's disk."""
    pairs = parse_repeated(properties, "--property")
    needs = [Right("Write", Resource.TOPIC, topic)]
    with connected(host, port, command_config, client_id, act=f"publish to topic {topic}", needs=needs) as client:
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
    command_config: CommandConfig = None,
) -> None:
    """Print and acknowledge the messages of a subscription as they arrive, until Ctrl-C."""
    act, needs = f"join subscription {name}", _to_read(name)
    with connected(host, port, command_config, client_id, act=act, needs=needs) as client:
        listen(client, name, count=count, verbose=verbose, shape=output)


@app.command()
def subscribe(
    topic: Topic,
    offset: Offset = "0",
    group: Annotated[
        str | None,
        typer.Option("--group", "-g", help="Name of a subscription that is kept. Default: a temporary one."),
    ] = None,
    count: Count = None,
    verbose: Verbose = False,
    output: Lines = Shape.TEXT,
    client_id: ClientId = None,
    host: Host = DEFAULT_HOST,
    port: Port = DEFAULT_PORT,
    command_config: CommandConfig = None,
) -> None:
    """Create a subscription of a topic and print its messages as they arrive, until Ctrl-C."""
    start = parse_offset(offset)
    act, needs = f"subscribe to topic {topic}", _to_read(group or f"{topic}-{client_id or 'CLIENT_ID'}", topic)
    with connected(host, port, command_config, client_id, act=act, needs=needs) as client:
        name = group or f"{topic}-{client.client_id}"
        client.create_subscription(name, topic, start)
        try:
            listen(client, name, count=count, verbose=verbose, shape=output)
        except CommandError:
            if group is None:
                _try_deletion(client, name)
            raise
        if group is None:
            client.delete_subscription(name)


def _to_read(subscription: str, topic: str = "TOPIC") -> list[Right]:
    """What a subscription needs, which is a group to the rules; who joins one may not know its topic."""
    return [Right("Read", Resource.GROUP, subscription), Right("Read", Resource.TOPIC, topic)]


def _try_deletion(client: BrokerClient, name: str) -> None:
    """Delete a temporary subscription that was lost. Why it was is what the user has to know, not why this fails."""
    from penstock.client.push.errors import BrokerClientError

    with contextlib.suppress(BrokerClientError):
        client.delete_subscription(name)


def parse_offset(text: str) -> int | str:
    if text in ("earliest", "latest"):
        return text
    if text.isdecimal() and int(text) < 1 << 63:
        return int(text)
    raise CommandError(f"--offset {text!r} is not an offset, earliest or latest", ExitCode.USAGE)


def _tell(output: Output, document: dict[str, object], sentence: str) -> None:
    if output is Output.JSON:
        print_json(document)
    else:
        note(sentence)
