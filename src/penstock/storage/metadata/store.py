"""The facts that segments cannot give back, in one durable SQLite file: cluster id, topics, configs, epochs, …

It is the truth, unlike the catalog: losing it loses topics. Each table is an object with a few methods, all durable on
return and for any thread; users take the table that they need. The tables are small: a broker of 10,000 partitions has
a file of a few megabytes.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from penstock.model.errors import KafkaError
from penstock.storage.metadata.acls import StoredAcls
from penstock.storage.metadata.configs import StoredConfigs
from penstock.storage.metadata.database import MetadataDatabase, OnCommit
from penstock.storage.metadata.identity import identify
from penstock.storage.metadata.leader_epochs import StoredLeaderEpochs
from penstock.storage.metadata.log_journal import StoredLogs
from penstock.storage.metadata.producer_ids import StoredProducerIds
from penstock.storage.metadata.push_producers import StoredPushProducers
from penstock.storage.metadata.quotas import StoredQuotas
from penstock.storage.metadata.subscriptions import StoredSubscriptions
from penstock.storage.metadata.tokens import StoredTokens
from penstock.storage.metadata.topics import StoredTopics
from penstock.storage.metadata.users import StoredUsers


class MetadataStore:
    """The one owner of meta.db. `boot` rises by one at every open that may write."""

    def __init__(
        self,
        path: Path | None,
        *,
        read_only: bool = False,
        must_exist: bool = False,
        on_commit: OnCommit | None = None,
    ) -> None:
        """See `MetadataDatabase`. MetadataError, with a message for people, if the file cannot be used."""
        self.database = MetadataDatabase(path, read_only=read_only, must_exist=must_exist, on_commit=on_commit)
        try:
            self.cluster_id, self.boot = identify(self.database)
        except (sqlite3.DatabaseError, KafkaError) as error:
            self.database.close()
            raise self.database.unusable(error) from error
        self.topics = StoredTopics(self.database)
        self.leader_epochs = StoredLeaderEpochs(self.database)
        self.configs = StoredConfigs(self.database)
        self.quotas = StoredQuotas(self.database)
        self.logs = StoredLogs(self.database)
        self.producer_ids = StoredProducerIds(self.database)
        self.subscriptions = StoredSubscriptions(self.database)
        self.push_producers = StoredPushProducers(self.database)
        self.users = StoredUsers(self.database)
        self.acls = StoredAcls(self.database)
        self.tokens = StoredTokens(self.database)

    def close(self) -> None:
        self.database.close()
