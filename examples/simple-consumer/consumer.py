"""Reads a topic as a member of a group, until Ctrl-C."""

import argparse
import signal

from penstock import Consumer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bootstrap", default="127.0.0.1:9092", metavar="HOST:PORT")
    parser.add_argument("--topic", default="simple-events")
    parser.add_argument("--group", default="simple-consumers")
    parser.add_argument("--count", type=int, help="end after this many records")
    options = parser.parse_args()

    with Consumer(
        options.bootstrap,
        options.topic,
        group=options.group,
        key_deserializer="text",
        value_deserializer="json",
        on_assign=lambda places: print("mine:", ", ".join(map(str, places)) or "nothing", flush=True),
    ) as consumer:
        signal.signal(signal.SIGINT, lambda *_: consumer.stop())
        signal.signal(signal.SIGTERM, lambda *_: consumer.stop())
        for seen, record in enumerate(consumer, 1):
            print(f"{record.place} {record.offset}: {record.key} {record.value}", flush=True)
            if seen == options.count:
                consumer.commit()  # this one is handled as well
                break


if __name__ == "__main__":
    main()
