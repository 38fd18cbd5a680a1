"""One member of a chain of topics as a program of its own: it reads, transforms and writes, exactly once.

    python -m tests.compat.chain_member CLIENT JSON

with the keys bootstrap, group, source, target, transactional_id, session_timeout_ms and abort_every. What it reads in
one poll and what it makes of it is one transaction, offsets included (KIP-447); every `abort_every`-th is aborted of
its own accord when everything is written, and read again. It prints each step when it is done, except "committing",
which comes before the commit is asked for, so that whoever kills it knows what was open. `ChainMember.java` is the
same for Kafka's own client.

    assigned  begun  sent  offsets  committing  committed  aborted  fatal
"""

import json
import sys
from collections.abc import Callable
from typing import Any

from tests.compat.chain_workers import ConfluentWorker, KafkaPythonWorker, MustAbort, Read, Worker
from tests.compat.group_member import Ending, Report

FATAL = 3
"""The exit code after an error that only a new producer gets over."""


def run_transaction(worker: Worker, records: list[Read], name: str, report: Report, *, commit: bool) -> None:
    worker.begin()
    report.say(event="begun")
    for record in records:
        worker.send(record.key, b"%b|%b" % (record.value, name.encode()))
    worker.flush()
    report.say(event="sent")
    worker.send_offsets({record.partition: record.offset + 1 for record in records})
    report.say(event="offsets")
    if not commit:
        raise MustAbort("of its own accord")
    report.say(event="committing")
    worker.commit()
    report.say(event="committed", records=len(records))


def run(worker: Worker, options: dict[str, Any], report: Report) -> None:
    ending, number = Ending(), 0
    while not ending.asked:
        records = worker.poll()
        if not records:
            continue
        number += 1
        try:
            commit = number % options["abort_every"] != 0
            run_transaction(worker, records, options["transactional_id"], report, commit=commit)
        except MustAbort as reason:
            worker.abort()
            worker.seek({record.partition: record.offset for record in reversed(records)})
            report.say(event="aborted", reason=str(reason))
    worker.close()


WORKERS: dict[str, Callable[[dict[str, Any], Report], Worker]] = {
    "confluent-kafka": ConfluentWorker,
    "kafka-python": KafkaPythonWorker,
}


def main() -> None:
    options, report = json.loads(sys.argv[2]), Report()
    try:
        run(WORKERS[sys.argv[1]](options, report), options, report)
    except Exception as error:  # whatever it is: the next process starts again
        report.say(event="fatal", error=repr(error))
        sys.exit(FATAL)


if __name__ == "__main__":
    main()
