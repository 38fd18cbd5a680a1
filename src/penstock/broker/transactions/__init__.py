"""Transactions: their states, the records of `__transaction_state`, and the coordinator that drives them."""
