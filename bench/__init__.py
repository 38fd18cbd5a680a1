"""Penstock measured, side by side with Apache Kafka: `make bench`, and its longer relatives.

    rivals.py     a broker that is started, watched and stopped: Penstock, or Apache Kafka as it comes
    wire.py       frames, built once, and connections
    pump.py       keeps produce requests under way on one connection, or on many
    reader.py     fetches as fast as a broker gives
    meter.py      what a broker and the load generator spend meanwhile
    work/         the pieces of work, a function each
    rounds.py     all work on all rivals, in turn, and the medians
    targets.py    what must be reached
    tables.py     the tables of a result
    store.py      results as files
    report.py     tables on the terminal and in docs/performance.md
    security/, push/, spark/    what these have of their own
    sustained.py, clients.py, age.py    longer runs, each with a make target of its own

Results are JSON files in `bench/results`.
"""
