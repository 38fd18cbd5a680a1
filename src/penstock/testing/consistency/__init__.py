"""The consistency checker: what clients tried and saw, and whether a correct broker can have made them see it.

    history          the operations, and a history as a whole
    history_file     operations as lines of JSON, written by clients that may be killed at any moment
    anomalies        what can be wrong, a type each
    write_checks     lost writes, duplicates, one offset with two values, values never written
    transaction_checks   aborted reads, reads of uncommitted data, partitions that are stuck
    torn_checks      transactions of which a part happened, records and offsets taken together
    poll_checks      records that a consumer skipped or saw in another order
    offset_effects   when commits of offsets took effect, if they did
    offset_checks    committed offsets that went back or were never committed
    checker          all of them, and the verdict

It knows no broker and no client: the recorder of a history decides what was tried.
"""
