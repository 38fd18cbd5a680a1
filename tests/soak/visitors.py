"""Those who come and go: short connections, rude ones, hostile bytes, and an administrator who is never content."""

from __future__ import annotations

import os
import socket
import struct
from typing import Any

from kio.schema.errors import ErrorCode

from tests.soak.plan import SIZED
from tests.soak.world import PATIENCE_SECONDS, Client, World
from tests.support import batches, group_client
from tests.support.wire import encode_header, encode_request, frame

LINGER_RESET = struct.pack("ii", 1, 0)


class ShortVisitor(Client):
    """A connection for one or two requests; some leave in the middle of one, without a goodbye."""

    def turn(self) -> None:
        client = self.raw
        kind = self.random.randrange(4)
        if kind == 0:
            assert client.call("api_versions", 2).error_code == ErrorCode.none
        elif kind == 1:
            topics = client.metadata(SIZED.name).topics
            assert [topic.error_code for topic in topics] == [ErrorCode.none]
        elif kind == 2:
            # A fetch that opens a session and is never seen again.
            client.send("fetch", 12, **client.fetch_values(SIZED.name, client.log_end(SIZED.name), max_wait=30_000))
        else:
            client.send("fetch", 12, **client.fetch_values(SIZED.name, client.log_start(SIZED.name), session_epoch=0))
            client._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_RESET)
        self.world.count("short connections")
        self.drop()


class HostileVisitor(Client):
    """Bytes that no client should send. The broker closes the connection or answers with an error, and goes on."""

    pause = 1.0

    def turn(self) -> None:
        attack = self.random.choice((self._noise, self._huge, self._half, self._unknown, self._bad_batch, self._http))
        self.world.count("hostile visits")
        try:
            attack()
        finally:
            self.drop()

    def _expect_closed(self) -> None:
        if not self.raw.closed_by_peer(within_s=PATIENCE_SECONDS):
            self.world.problem(f"{self.name}: was not turned away")

    def _noise(self) -> None:
        self.raw.send_bytes(b"\xff" + os.urandom(500))  # a negative size
        self._expect_closed()

    def _huge(self) -> None:
        self.raw.send_bytes(struct.pack(">i", 0x7FFFFFFF) + os.urandom(100))
        self._expect_closed()

    def _half(self) -> None:
        whole = frame(encode_request("metadata", 9, 1, {"topics": None}))
        self.raw.send_bytes(whole[: self.random.randrange(1, len(whole))])

    def _unknown(self) -> None:
        self.raw.send_bytes(frame(encode_header(self.random.randrange(2000, 3000), 0, 1) + os.urandom(30)))
        self._expect_closed()

    def _bad_batch(self) -> None:
        answer = self.raw.produce(SIZED.name, batches.values("never stored", crc=1))
        if answer.error_code != ErrorCode.corrupt_message:
            self.world.problem(f"{self.name}: a batch with a wrong CRC was answered with {answer}")

    def _http(self) -> None:
        self.raw.send_bytes(b"GET / HTTP/1.1\r\nHost: kafka\r\n\r\n")
        self._expect_closed()


class Administrator(Client):
    """Topics made, changed, emptied, deleted and made again under the same name; groups looked at and deleted."""

    pause = 1.5
    name_of_topic = "passing"

    def __init__(self, world: World) -> None:
        super().__init__(world, "administrator")
        self._round = 0

    def turn(self) -> None:
        self._round += 1
        self._clear_away()
        self._make_and_use()
        self._change()
        if self._round % 5 == 1:
            self._compress()
        self.raw.delete_topic(self.name_of_topic)
        self.raw.create_topic(self.name_of_topic)
        assert self.raw.log_end(self.name_of_topic) == 0, "a topic made again is not empty"
        self.raw.delete_topic(self.name_of_topic)
        try:
            self._visit_groups()
        except AssertionError:
            if self._life == self.world.life:
                raise
            self.world.count("visits to groups spoilt by a restart")  # a broker that stops coordinates nothing any more
            return
        self.world.count("rounds of the administrator")

    def _clear_away(self) -> None:
        """Delete the topic that a restart left over from the previous round."""
        (topic,) = self.raw.metadata(self.name_of_topic).topics
        if topic.error_code == ErrorCode.none:
            self.raw.delete_topic(self.name_of_topic)

    def _make_and_use(self) -> None:
        client, topic = self.raw, self.name_of_topic
        client.create_topic(topic, partitions=2, configs={"retention.ms": "3600000", "compression.type": "gzip"})
        for number in range(5):
            assert client.appended(topic, batches.values(f"{self._round}:{number}"), partition=1) == number
        assert client.delete_records(topic, 2, partition=1).error_code == ErrorCode.none
        read = client.fetch_records(topic, 2, partition=1)
        assert [record.value for record in read] == [b"%d:%d" % (self._round, number) for number in (2, 3, 4)]
        assert client.log_start(topic, 1) == 2

    def _change(self) -> None:
        client, topic = self.raw, self.name_of_topic
        wanted = str(60_000 + self._round)
        change = {"name": "retention.ms", "config_operation": 0, "value": wanted}
        resource: dict[str, Any] = {"resource_type": 2, "resource_name": topic, "configs": [change]}
        answer = client.call("incremental_alter_configs", 1, resources=[resource], validate_only=False)
        assert [each.error_code for each in answer.responses] == [ErrorCode.none]
        asked = {"resource_type": 2, "resource_name": topic, "configuration_keys": ["retention.ms"]}
        (described,) = client.call("describe_configs", 4, resources=[asked]).results
        assert [each.value for each in described.configs] == [wanted]
        more = {"name": topic, "count": 4, "assignments": None}
        answer = client.call("create_partitions", 3, topics=[more], timeout=10_000, validate_only=False)
        assert [each.error_code for each in answer.results] == [ErrorCode.none]
        client.wait_for_topic(topic, 4)

    def _compress(self) -> None:
        """Work for the broker's record worker: another codec for many records, and a search for a time in them."""
        client, topic = self.raw, self.name_of_topic
        first_ms = batches.now_ms()
        records = [batches.Record(value=b"%d" % number, timestamp_ms=first_ms + number) for number in range(20_000)]
        base = client.appended(topic, batches.batch(records), partition=3)
        assert client.list_offset(topic, first_ms + 12_345, partition=3).offset == base + 12_345
        assert {each.codec for each in client.fetch_batches(topic, base, partition=3)} == {batches.CODEC_GZIP}

    def _visit_groups(self) -> None:
        client, group = self.raw, f"passing-group-{self._round % 5}"
        group_client.wait_for_coordinator(client)
        member = group_client.joined_alone(client, group)
        assert member.commit(SIZED.name, self._round) == ErrorCode.none
        assert group_client.committed(client, group, SIZED.name).committed_offset == self._round
        assert member.leave() == ErrorCode.none
        assert client.call("list_groups", 4).error_code == ErrorCode.none
        deleted = client.call("delete_groups", 2, groups_names=[group])
        assert [each.error_code for each in deleted.results] == [ErrorCode.none], deleted
