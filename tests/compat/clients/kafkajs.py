"""kafkajs, through `kafkajs.js` in a Node.js process."""

import base64
import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.compat.clients.message import DEADLINE_S, Message
from tests.support.raw_client import unique_name

PROGRAM = Path(__file__).parents[1] / "kafkajs.js"


def command(name: str) -> list[str]:
    return ["node", str(PROGRAM), name]


def run(name: str, request: dict[str, Any]) -> list[dict[str, Any]]:
    """Run one command to its end; the JSON lines that it printed."""
    done = subprocess.run(
        command(name), input=json.dumps(request).encode(), capture_output=True, timeout=DEADLINE_S, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return [json.loads(line) for line in done.stdout.splitlines()]


def _text(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


def message_in(message: Message) -> dict[str, Any]:
    return {
        "key": _text(message.key),
        "value": _text(message.value),
        "headers": [[name, _text(value)] for name, value in message.headers],
        "timestamp": message.timestamp_ms,
        "partition": message.partition,
    }


class KafkaJsClient:
    name = "kafkajs"

    def produce(
        self, bootstrap: str, topic: str, messages: Sequence[Message], *, codec: str = "none", acks: int = -1
    ) -> None:
        request = {"bootstrap": bootstrap, "topic": topic, "codec": codec, "acks": acks}
        run("produce", {**request, "messages": [message_in(message) for message in messages]})

    def consume(self, bootstrap: str, topic: str, count: int) -> list[Message]:
        request = {"bootstrap": bootstrap, "topic": topic, "count": count, "group": unique_name("kafkajs")}
        return [
            Message(
                key=_bytes(each["key"]),
                value=_bytes(each["value"]),
                headers=tuple((name, _bytes(value)) for name, value in each["headers"]),
                timestamp_ms=each["timestamp"],
                partition=each["partition"],
                offset=each["offset"],
            )
            for each in run("consume", request)[:count]
        ]
