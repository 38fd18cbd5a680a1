"""The push client: publish and subscribe without a Kafka client.

    message, errors   the types that users see
    publications      the core: messages in flight, their sequences, at most five of a partition unanswered
    memberships       the core: subscriptions of the client, and their pending acknowledgements
    core              the core: requests, answers, heartbeats, reconnecting, over the two above
    login             the core: the login that each connection begins with, where the broker wants one
    connection/       the wire of a core, for threads and on asyncio, plain or under TLS
    client            BrokerClient: a thread receives, another calls the handlers
    async_client      AsyncBrokerClient: the same on asyncio

The cores do no I/O and have no clock; programs use `penstock.BrokerClient` and `penstock.AsyncBrokerClient`.
"""
