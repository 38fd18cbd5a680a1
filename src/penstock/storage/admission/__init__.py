"""Admission to a log, on disk or in memory: rules, producers, transactions, epochs, and the appender."""
