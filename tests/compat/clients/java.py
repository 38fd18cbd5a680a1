"""Kafka's own tools: the console producer and consumer, and a way to run any of the others."""

import subprocess
from collections.abc import Sequence

from tests.compat.clients.message import DEADLINE_S, Headers, Message
from tests.support.kafka_process import java_command

TOOLS = "org.apache.kafka.tools."
OPTIONS = (
    "-Xmx256m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
)
NULL = "<null>"
SEPARATOR = "\t"


def tool_command(name: str, *arguments: str) -> list[str]:
    main_class = name if "." in name and name.startswith("kafka.") else TOOLS + name
    return java_command(main_class, *arguments, options=OPTIONS)


def run_tool(name: str, *arguments: str, stdin: str = "", code: int | None = 0) -> str:
    """Run one of Kafka's tools to its end; what it printed (on both streams when it failed)."""
    done = subprocess.run(
        tool_command(name, *arguments),
        input=stdin.encode(),
        capture_output=True,
        timeout=DEADLINE_S,
        check=False,
    )
    output = done.stdout.decode()
    assert code is None or done.returncode == code, f"{name}: {done.returncode}\n{output}\n{done.stderr.decode()}"
    return output if code == 0 else output + done.stderr.decode()


class JavaConsoleClient:
    name = "java"

    def produce(
        self, bootstrap: str, topic: str, messages: Sequence[Message], *, codec: str = "none", acks: int = -1
    ) -> None:
        lines = "".join(self._line(message) for message in messages)
        run_tool(
            "ConsoleProducer", "--bootstrap-server", bootstrap, "--topic", topic,
            "--compression-codec", codec, "--request-required-acks", str(acks),
            "--command-property", f"enable.idempotence={'true' if acks == -1 else 'false'}",
            "--reader-property", "parse.key=true", "--reader-property", "parse.headers=true",
            "--reader-property", f"null.marker={NULL}", stdin=lines,
        )  # fmt: skip

    @staticmethod
    def _line(message: Message) -> str:
        headers = ",".join(f"{name}:{(value or b'').decode()}" for name, value in message.headers) or NULL
        key = NULL if message.key is None else message.key.decode()
        value = NULL if message.value is None else message.value.decode()
        return SEPARATOR.join((headers, key, value)) + "\n"

    def consume(self, bootstrap: str, topic: str, count: int) -> list[Message]:
        shown = ("print.timestamp", "print.offset", "print.headers", "print.key", "print.value")
        properties = [part for name in shown for part in ("--formatter-property", f"{name}=true")]
        output = run_tool(
            "consumer.ConsoleConsumer", "--bootstrap-server", bootstrap, "--topic", topic, "--partition", "0",
            "--offset", "earliest", "--max-messages", str(count), "--timeout-ms", str(int(DEADLINE_S * 500)),
            *properties, "--formatter-property", f"null.literal={NULL}",
        )  # fmt: skip
        return [self._read(line) for line in output.splitlines() if SEPARATOR in line]

    @staticmethod
    def _read(line: str) -> Message:
        stamp, offset, headers, key, value = line.split(SEPARATOR)
        return Message(
            key=None if key == NULL else key.encode(),
            value=None if value == NULL else value.encode(),
            headers=_headers(headers),
            timestamp_ms=int(stamp.split(":")[1]),
            offset=int(offset.split(":")[1]),
        )


def _headers(text: str) -> Headers:
    if text == "NO_HEADERS":
        return ()
    return tuple((name, value.encode()) for name, value in (pair.split(":", 1) for pair in text.split(",")))
