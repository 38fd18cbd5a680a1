"""Sends a few messages and says where they are."""

import argparse

from penstock import Admin, Producer
from penstock.sdk import AlreadyExists


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bootstrap", default="127.0.0.1:9092", metavar="HOST:PORT")
    parser.add_argument("--topic", default="simple-events")
    parser.add_argument("--count", type=int, default=10)
    options = parser.parse_args()

    with Admin(options.bootstrap) as admin:
        try:
            admin.create_topic(options.topic, partitions=3)
        except AlreadyExists:
            pass

    with Producer(options.bootstrap, key_serializer="text", value_serializer="json", linger_ms=5) as producer:
        futures = [
            producer.send(options.topic, {"number": number, "text": f"event {number}"}, key=f"key-{number % 4}")
            for number in range(options.count)
        ]
        for number, future in enumerate(futures):
            delivery = future.result()
            print(f"event {number} is in {delivery.topic}-{delivery.partition} at offset {delivery.offset}")


if __name__ == "__main__":
    main()
