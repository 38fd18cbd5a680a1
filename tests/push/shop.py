"""A subscription of a real broker whose members die of bad messages, and what is seen of it from outside."""

from __future__ import annotations

import re
from typing import Any

from penstock.model.errors import ErrorCode
from penstock.protocol.push import messages as m
from penstock.protocol.push.data import Item, Verdict
from tests.support.http_json import ask
from tests.support.penstock_process import PenstockProcess
from tests.support.push_client import PushClient, PushRefused
from tests.support.topic_contents import Seen, topic_contents
from tests.support.waiting import wait_until

LATER = (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR)


class Shop:
    """`dead` is the name of its dead-letter topic. Bodies of bad messages begin with b"bad"."""

    def __init__(self, node: PenstockProcess, topic: str) -> None:
        self.node = node
        self.topic = topic
        self.name = f"{topic}-shop"
        self.dead = f"{topic}.{self.name}.dead"

    def publish(self, *bodies: bytes, **more: Any) -> None:
        with PushClient(self.node.push_port) as client:
            client.publish(self.topic, *bodies, **more)

    def member(self) -> PushClient:
        """One more, as soon as the subscription can be joined."""
        found = wait_until(self._join, what="a member joins")
        assert found is not None
        return found

    def _join(self) -> PushClient | None:
        client = PushClient(self.node.push_port)
        try:
            client.ask(m.Subscribe("", self.topic, self.name))
        except PushRefused as refused:
            client.close()
            if refused.code in LATER:
                return None
            raise
        return client

    def crash(self) -> Item:
        """A member that does what is good, and dies of what is bad; its last message."""
        with self.member() as client:
            while True:
                data = client.data()
                for item in data.items:
                    if item.body is not None and item.body.startswith(b"bad"):
                        return item
                    client.acknowledge(data, Verdict.DONE, item)

    def wait_until_counted(self, count: int) -> None:
        """Until the position that says so was written: a kill of the process does not take that back."""
        text = re.compile(rb"push2 \d+ [0-9+ ]*/ [^/]*\*%d\b" % count)
        logs = list(self.node.data_directory.glob("topics/__consumer_offsets/**/*.log"))
        assert logs
        wait_until(lambda: any(text.search(log.read_bytes()) for log in logs), what=f"delivery {count} is stored")

    def dead_letters(self) -> list[Seen]:
        with PushClient(self.node.push_port) as client:
            try:
                client.ask(m.CreateTopic(self.dead, 0))
            except PushRefused:
                return []
        return topic_contents(self.node.bootstrap, self.dead)

    def wait_for_dead_letters(self, count: int = 1) -> list[Seen]:
        return wait_until(lambda: len(found := self.dead_letters()) >= count and found, what="the dead letter") or []

    def position(self) -> int:
        return int(ask(self.node.http_port, f"/api/v1/groups/{self.name}/offsets").body["offsets"][0]["committed"])

    def wait_until_done(self, position: int) -> None:
        wait_until(lambda: self.position() == position, what=f"everything below {position} is done")

    def set_config(self, name: str, value: str) -> None:
        """Of the dead-letter topic."""
        answer = ask(self.node.http_port, f"/api/v1/topics/{self.dead}/configs", "PATCH", {"set": {name: value}})
        assert answer.status == 200, answer


def refuse(client: PushClient, times: int = 3) -> None:
    """Give back the only message there is, until it is dead."""
    for count in range(1, times + 1):
        data = client.data()
        assert [item.delivery_count for item in data.items] == [count]
        client.acknowledge(data, Verdict.NOT_DONE)
