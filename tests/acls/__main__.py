"""`python -m tests.acls`: record the table of verdicts from Apache Kafka."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.acls.sasl_kafka import SaslKafka
from tests.acls.table import run, save


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        process = SaslKafka(Path(directory))
        process.prepare()
        process.start()
        try:
            verdicts = run(process.connect, print)
        finally:
            process.stop()
    save(verdicts)
    print(sum(len(by_rules) for by_rules in verdicts.values()), "verdicts")


if __name__ == "__main__":
    main()
