"""The pieces of work by name, in the order in which they are done.

The order matters: `fetch` reads what `produce_batches` wrote, and memory after the load is taken before the works that
need a thousand partitions or ten thousand connections.
"""

from bench.work.connections import connections
from bench.work.fetch import fetch
from bench.work.latency import acknowledge, end_to_end
from bench.work.partitions import partitions, partitions_wide
from bench.work.produce import produce_batches, produce_client, produce_single
from bench.work.run import Run, Work
from bench.work.transactions import transaction_alone, transactions_of, transactions_open, transactions_share

LOAD: dict[str, Work] = {
    "produce_batches": produce_batches,
    "produce_single": produce_single,
    "acknowledge": acknowledge,
    "end_to_end": end_to_end,
    "fetch": fetch,
}
"""After these the memory of a broker counts as that of one under load."""

TRANSACTIONS: dict[str, Work] = {
    "transaction_alone": transaction_alone,
    "transactions_1": transactions_of(1),
    "transactions_10": transactions_of(10),
    "transactions_100": transactions_of(100),
    "transactions_share": transactions_share,
    "transactions_open": transactions_open,
}

CROWDS: dict[str, Work] = {
    "produce_client": produce_client,
    "partitions": partitions,
    "partitions_wide": partitions_wide,
    "connections": connections,
}

WORK: dict[str, Work] = {**LOAD, **TRANSACTIONS, **CROWDS}

__all__ = ["CROWDS", "LOAD", "TRANSACTIONS", "WORK", "Run", "Work"]
