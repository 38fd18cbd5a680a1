"""`penstock.Admin`: topics, configs, groups, records and transactions. `AsyncAdmin` is its twin for asyncio."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, Self, Unpack

from penstock.model.topic_partition import TopicPartition
from penstock.sdk.admin import groups, topics
from penstock.sdk.admin.link import Link
from penstock.sdk.admin.values import (
    ConfigValue,
    GroupInfo,
    GroupListing,
    TopicInfo,
    TransactionInfo,
    TransactionListing,
)
from penstock.sdk.options import ClientOptions, Start


class Admin:
    """Client for the administration of a broker or cluster. Every call waits for its answer and raises a refusal.

        with Admin("127.0.0.1:9092") as admin:
            admin.create_topic("orders", partitions=6, config={"retention.ms": 86_400_000})
            print(admin.describe_group("billing").lag)

    `penstock.sdk.ClientOptions` lists the settings; `AsyncAdmin` is the twin for asyncio.
    """

    def __init__(self, bootstrap: str, **options: Unpack[ClientOptions]) -> None:
        self._link = Link(bootstrap, {**options})

    def __enter__(self) -> Self:
        self._link.check_open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the client. Closing twice is not an error."""
        self._link.close()

    # --- topics ------------------------------------------------------------------------------------------------------

    def create_topic(
        self,
        name: str,
        *,
        partitions: int | None = None,
        replication: int | None = None,
        config: Mapping[str, object] | None = None,
    ) -> None:
        """Create a topic. AlreadyExists if there is one. Omitted values are the broker's defaults."""
        topics.create(self._link, name, partitions, replication, config or {})

    def delete_topic(self, name: str) -> None:
        """Delete a topic with all its records. NotFound if there is none."""
        topics.delete(self._link, name)

    def list_topics(self, *, internal: bool = False) -> list[str]:
        """Names of topics in order; with `internal`, those of the broker itself, too."""
        return topics.names(self._link, internal=internal)

    def describe_topic(self, name: str) -> TopicInfo:
        """Partitions of a topic with their replicas, and with the offsets they begin and end at."""
        return topics.describe(self._link, name)

    def add_partitions(self, name: str, total: int) -> None:
        """Raise the number of partitions to `total`. Keys may then go to other partitions than before."""
        topics.add_partitions(self._link, name, total)

    # --- configs -----------------------------------------------------------------------------------------------------

    def topic_config(self, name: str) -> dict[str, ConfigValue]:
        """Every config of a topic by its name, defaults included."""
        return topics.config(self._link, name)

    def broker_config(self, broker_id: int) -> dict[str, ConfigValue]:
        """Every config of a broker by its name, defaults included. NotFound if there is none of that id."""
        return topics.broker_config(self._link, broker_id)

    def alter_topic_config(
        self, name: str, values: Mapping[str, object] | None = None, *, remove: Iterable[str] = ()
    ) -> None:
        """Set some values and return others to their default. Configs that are not named stay."""
        topics.alter_config(self._link, name, values or {}, remove)

    # --- records -----------------------------------------------------------------------------------------------------

    def delete_records(self, topic: str, before: Mapping[int, int | Literal["end"]]) -> dict[int, int]:
        """Delete the records before an offset, by partition. Returns the new start of each."""
        return topics.delete_records(self._link, topic, before)

    # --- groups ------------------------------------------------------------------------------------------------------

    def list_groups(self) -> list[GroupListing]:
        """All consumer groups with their states."""
        return groups.listed(self._link)

    def describe_group(self, name: str) -> GroupInfo:
        """A group: members with their partitions, committed offsets with their lag."""
        return groups.describe(self._link, name)

    def group_lag(self, name: str) -> dict[TopicPartition, int]:
        """Number of offsets that the group is behind, in each partition in which it has committed one."""
        return groups.lag(self._link, name)

    def reset_offsets(
        self, group: str, to: Start, *, topic: str | None = None, partitions: Sequence[int] | None = None
    ) -> dict[TopicPartition, int]:
        """Move a group's committed offsets: of all its partitions, of a topic or of some partitions of it.

        GroupInUse while it has members. Returns the new offsets, which are within the log in any case.
        """
        return groups.reset(self._link, group, to, topic, partitions)

    def delete_group(self, name: str) -> None:
        """Delete a group. GroupInUse while it has members."""
        groups.delete(self._link, name)

    # --- transactions ------------------------------------------------------------------------------------------------

    def list_transactions(self, *, states: Sequence[str] = ()) -> list[TransactionListing]:
        """All transactional ids, or those in some states, such as Ongoing."""
        from penstock.sdk.admin import transactions  # the schemas of Kafka's requests, which take a while to load

        return transactions.listed(self._link, states)

    def describe_transaction(self, transactional_id: str) -> TransactionInfo:
        """State of an id, and the partitions that an open transaction has written to. NotFound for an id never used."""
        from penstock.sdk.admin import transactions

        return transactions.describe(self._link, transactional_id)

    def abort_transaction(self, transactional_id: str) -> None:
        """Abort the open transaction of an id. Its producer is fenced. StateError if none is open."""
        from penstock.sdk.admin import transactions

        transactions.abort(self._link, transactional_id)
