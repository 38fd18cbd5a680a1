"""The REST admin API, below /api/v1 on the HTTP port, over the services of the Kafka handlers.

It decides nothing by itself. It belongs to the node and not to the gateways because those reach a broker only over its
wire, and here a call goes straight to the controller, the coordinators and the partitions.
"""
