"""kcat, the command line over librdkafka; its lines carry text only."""

import json
import subprocess
from collections.abc import Sequence
from itertools import groupby

from tests.compat.clients.message import DEADLINE_S, Headers, Message

KEY_END = "\t"


def kcat(*arguments: str, stdin: str = "") -> str:
    done = subprocess.run(
        ["kcat", *arguments],
        input=stdin.encode(),
        capture_output=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


class KcatClient:
    name = "kcat"

    def produce(
        self, bootstrap: str, topic: str, messages: Sequence[Message], *, codec: str = "none", acks: int = -1
    ) -> None:
        """Headers are given to kcat for a whole run, so each run of messages with the same ones is one call."""
        for headers, run in groupby(messages, key=lambda message: message.headers):
            lines = "".join(self._line(message) for message in run)
            kcat(
                "-P", "-b", bootstrap, "-t", topic, "-p", "0", "-K", KEY_END, "-Z", "-z", codec,
                "-X", f"acks={acks}", *self._header_flags(headers), stdin=lines,
            )  # fmt: skip

    @staticmethod
    def _line(message: Message) -> str:
        assert message.value is not None
        key = "" if message.key is None else message.key.decode() + KEY_END
        return key + message.value.decode() + "\n"

    @staticmethod
    def _header_flags(headers: Headers) -> list[str]:
        return [part for name, value in headers for part in ("-H", f"{name}={(value or b'').decode()}")]

    def consume(self, bootstrap: str, topic: str, count: int) -> list[Message]:
        output = kcat("-C", "-J", "-b", bootstrap, "-t", topic, "-p", "0", "-o", "beginning", "-c", str(count), "-q")
        return [self._read(json.loads(line)) for line in output.splitlines()]

    @staticmethod
    def _read(record: dict[str, object]) -> Message:
        flat = record.get("headers") or []
        assert isinstance(flat, list)
        names, values = flat[0::2], flat[1::2]
        key, payload, stamp, offset = record["key"], record["payload"], record["ts"], record["offset"]
        assert isinstance(stamp, int)
        assert isinstance(offset, int)
        return Message(
            key=None if key is None else str(key).encode(),
            value=None if payload is None else str(payload).encode(),
            headers=tuple((str(name), str(value).encode()) for name, value in zip(names, values, strict=True)),
            timestamp_ms=stamp,
            offset=offset,
        )
