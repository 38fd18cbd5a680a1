"""Readers in threads while the loop appends, rolls, checkpoints and forgets: every answer is whole and right."""

from __future__ import annotations

import random
import threading
from dataclasses import replace
from pathlib import Path

from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.records import iter_records
from penstock.storage.interface import LogConfig
from penstock.storage.log.retention import run_retention
from tests.unit.storage.log_rig import NOW, Rig, put

CONFIG = LogConfig(segment_bytes=8000, index_interval_bytes=300, retention_ms=-1)


def test_reads_beside_everything_else(tmp_path: Path) -> None:
    rig = Rig(tmp_path, CONFIG, verify="always")
    stop = threading.Event()
    failures: list[BaseException] = []
    reads = [0, 0]

    def reader(number: int) -> None:
        chance = random.Random(number)
        try:
            while not stop.is_set():
                log = rig.log
                end = log.flushed
                offset = chance.randint(log.log_start, max(log.log_start, end))
                try:
                    found = log.read(offset, 5000, end=end, one_batch_at_least=True, wait=True)
                    if number == 0 and end:
                        log.find_timestamp(NOW + offset, end=end)
                except KafkaError as error:
                    if error.code is ErrorCode.OFFSET_OUT_OF_RANGE and offset < log.log_start:
                        continue  # retention was faster
                    raise
                for record in iter_records(found.records):
                    assert record.value == b"%d" % record.offset
                    assert record.offset < end
                assert offset == end or found.next_offset > offset
                reads[number] += 1
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=reader, args=(number,)) for number in (0, 1)]
    for thread in threads:
        thread.start()
    try:
        for index in range(2000):
            put(rig.log, b"%d" % index, timestamp=NOW + index)
            if index % 25 == 0:
                rig.flush()
            if index % 250 == 0:
                rig.checkpoint()
            if index % 300 == 0:
                rig.log.set_config(replace(CONFIG, retention_bytes=30_000))
                run_retention(rig.log, NOW)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not failures, failures
    assert all(reads)
    assert rig.log.segment_count > 2
    rig.close()
