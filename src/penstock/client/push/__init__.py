"""The push client: publish and subscribe without a Kafka client.

    message, errors   what users see
    publications      the core: messages under way, their sequences, at most five of a partition unanswered
    memberships       the core: subscriptions that are held, and the acknowledgements that are owed
    core              the core: requests, answers, heartbeats, reconnecting, over the two above
    client            BrokerClient: a thread receives, another calls the handlers
    async_client      AsyncBrokerClient: the same on asyncio

The cores do no I/O and know no clock; `penstock.BrokerClient` and `penstock.AsyncBrokerClient` are the way in.
"""
