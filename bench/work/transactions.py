"""Transactions: what they cost beside plain idempotent writing, and whether open ones disturb others."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bench.producers import Habit, Produced, Producer, keep_busy
from bench.pump import Lane, pump
from bench.spread import Figures, spread
from bench.wire import create_topic, produce_frame
from bench.work.produce import CLIENT_BATCH_MESSAGES, IN_FLIGHT, MESSAGE_BYTES
from bench.work.run import Run

PRODUCERS = 16
# Kafka Streams commits so often by default when it works exactly once.
COMMIT_EVERY_S = 0.1
OPEN = 1000


def transaction_alone(run: Run) -> Figures:
    """One producer, one message a transaction: from the first byte until the commit is acknowledged."""
    return _transactions(run, "bench-transaction-alone", 1, 1)


def transactions_of(messages: int) -> Callable[[Run], Figures]:
    """16 producers, each with a partition of its own and so many messages of 100 B a transaction, in one batch."""

    def transactions(run: Run) -> Figures:
        return _transactions(run, f"bench-transactions-{messages}", messages, PRODUCERS)

    return transactions


def _transactions(run: Run, topic: str, messages: int, count: int) -> Figures:
    producers = _producers(run, topic, Habit(messages=messages, message_bytes=MESSAGE_BYTES), count)
    produced, figures = _measured(run, producers, messages)
    rate = produced.transactions / produced.seconds
    return {"transactions_per_s": rate, "messages_per_s": rate * messages, **spread(produced.latencies), **figures}


def transactions_share(run: Run) -> Figures:
    """16 producers with client batches, 5 in flight, a commit every 100 ms; and the same without transactions."""
    habit = Habit(messages=CLIENT_BATCH_MESSAGES, message_bytes=MESSAGE_BYTES, in_flight=IN_FLIGHT)
    plain = _producers(run, "bench-idempotent", habit, PRODUCERS, transactional=False)
    idempotent, _ = _measured(run, plain, habit.messages)
    habit = Habit(
        messages=CLIENT_BATCH_MESSAGES,
        message_bytes=MESSAGE_BYTES,
        in_flight=IN_FLIGHT,
        commit_every=COMMIT_EVERY_S,
    )
    producers = _producers(run, "bench-transactional", habit, PRODUCERS)
    produced, figures = _measured(run, producers, habit.messages)
    plain_rate = idempotent.batches * habit.messages / idempotent.seconds
    rate = produced.batches * habit.messages / produced.seconds
    return {
        "messages_per_s": rate,
        "idempotent_messages_per_s": plain_rate,
        "share": rate / plain_rate,
        **spread(produced.latencies),
        **figures,
    }


def transactions_open(run: Run) -> Figures:
    """One message a request, 5 in flight, into a partition, before 1,000 transactions are open in it and while."""
    topic = "bench-transactions-open"
    create_topic(run.address, topic)
    lane = Lane(run.address, topic, [produce_frame(topic, 0, 1, MESSAGE_BYTES)], IN_FLIGHT)
    pump(lane, run.warm_up)
    before = pump(lane, run.seconds / 2)
    opened = [Producer(run.address, topic, 0, Habit(messages=1), f"bench-open-{number}") for number in range(OPEN)]
    for producer in opened:
        producer.begin()
    pump(lane, run.warm_up / 2)
    run.meter.begin("Produce")
    beside = pump(lane, run.seconds / 2)
    figures = run.meter.end(beside.answers)
    lane.close()
    keep_busy(opened, 0)  # they commit
    for producer in opened:
        producer.close()
    rates = [pumped.answers / pumped.seconds for pumped in (before, beside)]
    return {
        "requests_per_s": rates[1],
        "requests_per_s_before": rates[0],
        "share": rates[1] / rates[0],
        **spread(beside.latencies),
        **figures,
    }


def _producers(run: Run, topic: str, habit: Habit, count: int, *, transactional: bool = True) -> list[Producer]:
    create_topic(run.address, topic, count)
    return [
        Producer(run.address, topic, number, habit, f"{topic}-{number}" if transactional else None)
        for number in range(count)
    ]


def _measured(run: Run, producers: Sequence[Producer], messages: int) -> tuple[Produced, Figures]:
    keep_busy(producers, run.warm_up)
    run.meter.begin("Produce")
    produced = keep_busy(producers, run.seconds)
    figures = run.meter.end(produced.batches * messages)
    for producer in producers:
        producer.close()
    return produced, figures
