"""The programs of docs/sdk.md type-check for a user with mypy --strict, examples in docstrings run, and the table of
fields is true. tests/docs runs the programs."""

from __future__ import annotations

import asyncio
import inspect
import re
import struct
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from crc32c import crc32c

import penstock.sdk
from penstock import Admin, AsyncAdmin, AsyncConsumer, AsyncProducer, Consumer, Producer
from penstock.model.batch import read_header
from penstock.model.records import batch_records
from tests.sdk.conftest import NewTopic
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient, unique_name
from tests.support.waiting import wait_until

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "sdk.md"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
BROKER = "127.0.0.1:9092"


def programs() -> list[str]:
    return BLOCK.findall(PAGE.read_text(encoding="utf-8"))


def docstring_example(documented: object) -> str:
    """The indented examples of a docstring, as the API reference shows them."""
    lines = (inspect.getdoc(documented) or "").splitlines()
    return textwrap.dedent("\n".join(line for line in lines if line.startswith("    "))) + "\n"


def in_a_loop(example: str) -> str:
    return f"async def main():\n{textwrap.indent(example, '    ')}\nasyncio.run(main())\n"


@pytest.mark.feature("K-19")
def test_examples_in_docstrings_run(broker: BrokerProcess, admin: Admin, new_topic: NewTopic) -> None:
    """In this order: the topic is made, written to and read. Consumers would run forever, and end when idle."""
    topic, invoices, group = unique_name("orders"), new_topic(), unique_name("group")
    names = {BROKER: broker.bootstrap, '"orders"': f'"{topic}"', '"invoices"': f'"{invoices}"'}
    endless = {'group="billing"': f'group="{group}", idle_timeout_s=2', '"billing"': f'"{group}"'}

    def run(example: str, **known: Any) -> None:
        assert len(example.splitlines()) >= 2
        for old, new in {**names, **endless}.items():
            example = example.replace(old, new)
        exec(compile(example, "docstring", "exec"), {**vars(penstock.sdk), "asyncio": asyncio, **known})

    admin.reset_offsets(group, "earliest", topic=invoices)  # which Admin's example asks for the lag of
    run(docstring_example(Admin))
    run(in_a_loop(docstring_example(AsyncAdmin)))
    run(docstring_example(Producer))
    run(in_a_loop(docstring_example(AsyncProducer)))
    run(docstring_example(Consumer))
    assert admin.describe_group(group).lag == 0
    run(in_a_loop(docstring_example(AsyncConsumer)))
    with (
        Producer(broker.bootstrap, transactional_id=unique_name("t"), value_serializer="json") as producer,
        Consumer(
            broker.bootstrap,
            topic,
            group=unique_name("group"),
            delivery="exactly-once",
            producer=producer,
            value_deserializer="json",
        ) as consumer,
    ):

        def is_billed() -> bool:
            run(docstring_example(Consumer.transaction), consumer=consumer, producer=producer)
            return admin.describe_topic(invoices).partitions[0].end >= 2

        wait_until(is_billed, what="an invoice for each order", within_s=30)


@pytest.mark.feature("K-19")
def test_every_program_type_checks(tmp_path: Path) -> None:
    """As a user's: with the package's types, and without this project's settings of mypy."""
    assert len(programs()) >= 9
    for number, program in enumerate(programs()):
        (tmp_path / f"program_{number}.py").write_text(program)
    wrong = 'from penstock import Admin, Producer\n\nProducer("", linger=5)\nAdmin("").reset_offsets("g", "middle")\n'
    (tmp_path / "wrong.py").write_text(wrong)
    config = tmp_path / "mypy.ini"
    config.write_text(f"[mypy]\nstrict = True\nmypy_path = {ROOT / 'src'}\nfollow_imports = silent\n")
    command = [sys.executable, "-m", "mypy", "--config-file", str(config), "--cache-dir", str(ROOT / ".mypy_cache/sdk")]
    done = subprocess.run([*command, str(tmp_path)], check=False, capture_output=True, text=True, cwd=tmp_path)
    errors = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert len(errors) == 2, done.stdout + done.stderr
    assert "wrong.py:3" in errors[0]
    assert "wrong.py:4" in errors[1]


# --- the message on the wire -----------------------------------------------------------------------------------------


def documented_bytes() -> dict[str, tuple[int, int | None]]:
    text = PAGE.read_text(encoding="utf-8")
    table = text.partition("<!-- message fields -->")[2].partition("<!-- end of message fields -->")[0]
    rows = re.findall(r"^\| ([a-z ]+) \| .* \| (?:from (\d+)|(\d+) to (\d+)) \|$", table, re.MULTILINE)
    return {name: (int(first or begin), int(end) if end else None) for name, first, begin, end in rows}


@pytest.mark.feature("K-20")
def test_the_fields_of_a_message_are_where_the_page_says(broker: BrokerProcess, new_topic: NewTopic) -> None:
    topic = new_topic()
    with Producer(broker.bootstrap, linger_ms=50) as producer:
        futures = [producer.send(topic, b"value", key=b"key", headers={"h": "x"}), producer.send(topic, None)]
    with RawClient(broker.host, broker.port) as client:
        batch = memoryview(bytes(client.fetch(topic, 0).records))
    places, header = documented_bytes(), read_header(batch)

    def number(name: str, shape: str) -> tuple[int, ...]:
        begin, end = places[name]
        return struct.unpack(shape, batch[begin:end])

    assert number("magic byte", ">b") == number("version", ">b") == (2,)
    assert number("checksum", ">I") == (crc32c(batch[21:]),)
    assert number("timestamp", ">q") == (futures[0].result().timestamp_ms,)
    assert number("producer", ">qhi") == (header.producer_id, header.producer_epoch, 0)
    assert number("number of records", ">i") == (2,)
    first, second = batch_records(batch, header)
    assert (first.key, first.value, second.key, second.value) == (b"key", b"value", None, None)
    # length, attributes, differences of time and offset; then the key's length (3, as a varint 6), the key, …
    record = bytes(batch[places["key length"][0] :])
    assert record[4:14] == b"\x06key\x0avalue"
    assert record[14:19] == b"\x02\x02h\x02x"
    assert {places[name] for name in ("key length", "key", "value length", "value", "headers")} == {(61, None)}
