"""Turns each order into an invoice exactly once, however often it is killed."""

import argparse
import signal
from collections import Counter

from penstock import Admin, Consumer, Producer
from penstock.sdk import AlreadyExists, TransactionAborted

ORDERS, INVOICES, GROUP = "billing-orders", "billing-invoices", "exactly-once-billing"


def fill(bootstrap: str, count: int) -> None:
    with Admin(bootstrap) as admin:
        for topic in (ORDERS, INVOICES):
            try:
                admin.create_topic(topic, partitions=3)
            except AlreadyExists:
                pass
    with Producer(bootstrap, value_serializer="json", partitioner="round-robin") as producer:
        for number in range(count):
            producer.send(ORDERS, {"order": number, "cents": 100 + number})
    print(f"{count} orders")


def run(bootstrap: str, name: str, idle_s: float | None) -> None:
    """Write invoices until Ctrl-C, or until no order has come for `idle_s`."""
    producer = Producer(bootstrap, transactional_id=f"{GROUP}-{name}", value_serializer="json", linger_ms=5)
    consumer = Consumer(
        bootstrap,
        ORDERS,
        group=GROUP,
        delivery="exactly-once",
        producer=producer,
        value_deserializer="json",
        assignor="cooperative-sticky",
        instance_id=name,  # after a restart it gets its partitions at once and need not wait for its old session
    )
    stopped = False

    def stop(*_: object) -> None:
        nonlocal stopped
        stopped = True
        consumer.stop()

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    with producer, consumer:
        while not stopped:
            try:
                with consumer.transaction(max_records=50, timeout_s=idle_s or 1.0) as records:
                    for record in records:
                        producer.send(INVOICES, {"order": record.value["order"], "due": record.value["cents"]})
            except TransactionAborted as reason:
                print(f"once more: {reason}", flush=True)
                continue
            if records:
                print(f"{len(records)} invoices", flush=True)
            elif idle_s is not None and consumer.assignment():
                return


def check(bootstrap: str) -> None:
    """Count the orders that were billed not at all or more than once."""
    with Consumer(bootstrap, ORDERS, value_deserializer="json", idle_timeout_s=2) as consumer:
        orders = {record.value["order"] for record in consumer}
    with Consumer(bootstrap, INVOICES, value_deserializer="json", idle_timeout_s=2) as consumer:
        invoices = Counter(record.value["order"] for record in consumer)
    missing = len(orders - set(invoices))
    doubled = sum(count > 1 for count in invoices.values())
    print(f"{len(orders)} orders, {missing} without an invoice, {doubled} with more than one")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["fill", "run", "check"])
    parser.add_argument("--bootstrap", default="127.0.0.1:9092", metavar="HOST:PORT")
    parser.add_argument("--count", type=int, default=1000, help="orders to write")
    parser.add_argument("--name", default="a", help="name of this process, the same after a restart")
    parser.add_argument("--idle-s", type=float, help="end when no order has come for this long")
    options = parser.parse_args()
    if options.what == "fill":
        fill(options.bootstrap, options.count)
    elif options.what == "run":
        run(options.bootstrap, options.name, options.idle_s)
    else:
        check(options.bootstrap)


if __name__ == "__main__":
    main()
