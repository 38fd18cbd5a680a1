"""A chain of topics, raw to middle to out: who feeds it, the posts along it, and who reads what comes out."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from tests.compat.chain_posts import Post, Stage
from tests.compat.clients.topic_reader import TopicReader
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient, unique_name
from tests.support.waiting import wait_until

PARTITIONS = 3
KEYS = 30
PACE_S = 0.03
FED_AT_ONCE = 6
WITHIN_S = 60.0

Pair = tuple[str, str]
"""The libraries of the two members of a stage."""
Found = list[tuple[str, str]]
"""Keys and values, in the order of each partition."""


def number_of(value: str) -> int:
    """The input that a value was made from."""
    return int(value.split("|")[0])


class Feeder:
    """Writes numbers into the raw topic, each once, until it is told to stop."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.fed = 0
        self._topic = topic
        self._failures: list[Any] = []
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "enable.idempotence": True, "reconnect.backoff.max.ms": 500}
        )
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._feed, daemon=True)
        self._thread.start()

    def _feed(self) -> None:
        while not self._stopping.wait(PACE_S):
            for _ in range(FED_AT_ONCE):
                key, value = b"%d" % (self.fed % KEYS), b"%d" % self.fed
                self._producer.produce(self._topic, value, key, on_delivery=self._told)
                self.fed += 1
            self._producer.poll(0)

    def _told(self, error: Any, _: Any) -> None:
        if error is not None:
            self._failures.append(error)

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()

    def finish(self) -> int:
        """How many there are, all of them acknowledged."""
        self.stop()
        assert self._producer.flush(WITHIN_S) == 0
        assert not self._failures, self._failures
        return self.fed


class Chain:
    """The topics and the posts."""

    def __init__(self, broker: BrokerProcess, pairs: tuple[Pair, Pair], classes: Path) -> None:
        self._broker = broker
        name = unique_name("chain")
        self.raw, self.middle, self.out = (f"{name}-{part}" for part in ("raw", "middle", "out"))
        with RawClient(broker.host, broker.port) as client:
            for topic in (self.raw, self.middle, self.out):
                client.create_topic(topic, partitions=PARTITIONS)
        self.posts: list[Post] = []
        for pair, source, target in zip(pairs, (self.raw, self.middle), (self.middle, self.out), strict=True):
            group = f"{target}-group"
            stage = Stage(bootstrap=broker.bootstrap, group=group, source=source, target=target, classes=classes)
            self.posts += [Post(kind, stage, f"{target}-{kind}") for kind in pair]
        self._feeder = Feeder(broker.bootstrap, self.raw)

    def wait_until(self, condition: Callable[[], bool], *, what: str, but: Post | None = None) -> None:
        """While members that meet fatal errors are replaced, but for one post whose member was killed."""

        def tended() -> bool:
            for post in self.posts:
                if post is not but:
                    post.tend()
            return condition()

        try:
            wait_until(tended, what=what, within_s=WITHIN_S)
        except AssertionError as error:
            now = "\n\n".join(post.now() for post in self.posts)
            raise AssertionError(f"{error}\n{self}\n\n{now}") from error

    def kill(self, post: Post, step: str) -> None:
        """Kill a post's member when it comes to a step."""

        def killed() -> bool:
            post.member.kill_at(step)  # again, where it has ended by itself and another one began
            return post.tend()

        self.wait_until(killed, what=f"{post.name} comes to {step}", but=post)

    def kill_broker(self, post: Post, step: str) -> None:
        """Kill the broker when a post's member comes to a step, and start it again."""
        post.member.at(step, self._broker.kill9)
        self.wait_until(lambda: not self._broker.running, what=f"{post.name} comes to {step}")
        self._broker.start()

    def partner(self, post: Post) -> Post:
        return self.posts[self.posts.index(post) ^ 1]

    def wait_until_taken_over(self, post: Post) -> None:
        """By the other member of its group, which has to wait for its session to end."""
        partner = self.partner(post)
        everything = set(range(PARTITIONS))
        what = f"{partner.name} has everything"
        self.wait_until(lambda: partner.member.assignment == everything, what=what, but=post)

    def finish(self) -> int:
        """How many were fed, when all of them have come out and every transaction is ended."""
        fed = self._feeder.finish()
        reader = self.reader(self.out, "read_committed")
        what = f"{fed} inputs are in the output"
        self.wait_until(lambda: len({number_of(value.decode()) for _, value in reader.read()}) == fed, what=what)
        reader.close()
        for post in self.posts:
            post.leave()
        with RawClient(self._broker.host, self._broker.port) as client:
            wait_until(lambda: self._is_settled(client), what="every transaction is ended", within_s=WITHIN_S)
        return fed

    def _is_settled(self, client: RawClient) -> bool:
        answers = [
            client.fetch(topic, 0, partition=index, isolation_level=1)
            for topic in (self.middle, self.out)
            for index in range(PARTITIONS)
        ]
        return all(answer.last_stable_offset == answer.high_watermark for answer in answers)

    def reader(self, topic: str, isolation: str) -> TopicReader:
        return TopicReader(self._broker.bootstrap, topic, isolation, partitions=PARTITIONS)

    def read(self, topic: str, isolation: str) -> Found:
        """All of a topic."""
        found = self.reader(topic, isolation).read_to_the_end()
        return [(key.decode(), value.decode()) for key, value in found]

    def close(self) -> None:
        self._feeder.stop()
        for post in self.posts:
            post.member.kill9()

    def __str__(self) -> str:
        return "\n".join(map(str, self.posts))
