"""The price of security, and how it compares with Apache Kafka's: `make bench-security`.

brokers.py      Penstock and Apache Kafka with listeners for plain text, TLS, and TLS with logins
tls_wire.py     an encrypted connection that costs the load generator little
crowd.py        thousands of connections, each with a handshake and a login
works.py        the pieces of work, a function each
in_turn.py      one broker beside another: rules against none, this tree against an earlier one
targets.py      figures to reach, and the table
report.py       the table in docs/performance.md
"""
