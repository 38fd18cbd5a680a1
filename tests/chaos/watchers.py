"""A client that watches the committed offsets of all groups, and commits some of its own outside of transactions."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from kio.schema.errors import ErrorCode

from penstock.testing.consistency.history import OffsetCommit, OffsetFetch, Outcome
from penstock.testing.consistency.history_file import Recorder, now
from tests.chaos.plan import OFFSETS_PARTITION, PLAIN_GROUP
from tests.support.raw_client import RawClient
from tests.support.wire import ConnectionClosed

PAUSE_SECONDS = 0.1
PATIENCE_SECONDS = 10.0


class OffsetWatcher:
    def __init__(self, bootstrap: str, recorder: Recorder, groups: Sequence[str], first_offset: int) -> None:
        host, port = bootstrap.rsplit(":", 1)
        self._address = host, int(port)
        self._recorder = recorder
        self._groups = [PLAIN_GROUP, *groups]
        self._next_offset = first_offset

    def run(self, leaving: Callable[[], bool]) -> None:
        while not leaving():
            try:
                with RawClient(*self._address, timeout_s=PATIENCE_SECONDS) as raw:
                    while not leaving():
                        self._round(raw)
                        time.sleep(PAUSE_SECONDS)
            except (OSError, ConnectionClosed):
                time.sleep(PAUSE_SECONDS)

    def _round(self, raw: RawClient) -> None:
        self._commit(raw)
        for group in self._groups:
            self.fetch(raw, group)

    def _commit(self, raw: RawClient) -> None:
        self._next_offset += 1
        topic, index = OFFSETS_PARTITION
        commit = OffsetCommit(
            client=self._recorder.client,
            number=self._recorder.number(),
            started=now(),
            group=PLAIN_GROUP,
            topic=topic,
            partition_index=index,
            offset=self._next_offset,
        )
        self._recorder.note(commit)
        partition = {"partition_index": index, "committed_offset": self._next_offset, "committed_metadata": ""}
        answer = raw.call(
            "offset_commit",
            8,
            group_id=PLAIN_GROUP,
            generation_id_or_member_epoch=-1,
            topics=[{"name": topic, "partitions": [partition]}],
        )
        if answer.topics[0].partitions[0].error_code == ErrorCode.none:
            self._recorder.note(replace(commit, outcome=Outcome.OK, ended=now()))

    def fetch(self, raw: RawClient, group: str) -> bool:
        """Whether the broker told the group's stable offset."""
        topic, index = OFFSETS_PARTITION
        started = now()
        answer = raw.call(
            "offset_fetch",
            7,
            group_id=group,
            topics=[{"name": topic, "partition_indexes": [index]}],
            require_stable=True,
        )
        if answer.error_code != ErrorCode.none:
            return False
        partition = answer.topics[0].partitions[0]
        if partition.error_code != ErrorCode.none:
            return False
        self._recorder.note(
            OffsetFetch(
                client=self._recorder.client,
                number=self._recorder.number(),
                started=started,
                ended=now(),
                group=group,
                topic=topic,
                partition_index=index,
                offset=partition.committed_offset,
            )
        )
        return True
