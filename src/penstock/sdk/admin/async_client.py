"""`penstock.AsyncAdmin`: the twin of `Admin` for asyncio, with the same methods. Each call waits in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, Self, Unpack

from penstock.model.topic_partition import TopicPartition
from penstock.sdk.admin.client import Admin
from penstock.sdk.admin.values import (
    ConfigValue,
    GroupInfo,
    GroupListing,
    TopicInfo,
    TransactionInfo,
    TransactionListing,
)
from penstock.sdk.options import ClientOptions, Start


class AsyncAdmin:
    """Twin of `Admin`, with `async with` and `await`.

        async with AsyncAdmin("127.0.0.1:9092") as admin:
            print(await admin.list_topics())

    `penstock.sdk.ClientOptions` lists the settings.
    """

    def __init__(self, bootstrap: str, **options: Unpack[ClientOptions]) -> None:
        self._admin = Admin(bootstrap, **options)

    async def __aenter__(self) -> Self:
        self._admin.__enter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """See `Admin.close`."""
        self._admin.close()

    async def create_topic(
        self,
        name: str,
        *,
        partitions: int | None = None,
        replication: int | None = None,
        config: Mapping[str, object] | None = None,
    ) -> None:
        """See `Admin.create_topic`."""
        await asyncio.to_thread(
            self._admin.create_topic, name, partitions=partitions, replication=replication, config=config
        )

    async def delete_topic(self, name: str) -> None:
        """See `Admin.delete_topic`."""
        await asyncio.to_thread(self._admin.delete_topic, name)

    async def list_topics(self, *, internal: bool = False) -> list[str]:
        """See `Admin.list_topics`."""
        return await asyncio.to_thread(self._admin.list_topics, internal=internal)

    async def describe_topic(self, name: str) -> TopicInfo:
        """See `Admin.describe_topic`."""
        return await asyncio.to_thread(self._admin.describe_topic, name)

    async def add_partitions(self, name: str, total: int) -> None:
        """See `Admin.add_partitions`."""
        await asyncio.to_thread(self._admin.add_partitions, name, total)

    async def topic_config(self, name: str) -> dict[str, ConfigValue]:
        """See `Admin.topic_config`."""
        return await asyncio.to_thread(self._admin.topic_config, name)

    async def broker_config(self, broker_id: int) -> dict[str, ConfigValue]:
        """See `Admin.broker_config`."""
        return await asyncio.to_thread(self._admin.broker_config, broker_id)

    async def alter_topic_config(
        self, name: str, values: Mapping[str, object] | None = None, *, remove: Iterable[str] = ()
    ) -> None:
        """See `Admin.alter_topic_config`."""
        await asyncio.to_thread(self._admin.alter_topic_config, name, values, remove=remove)

    async def delete_records(self, topic: str, before: Mapping[int, int | Literal["end"]]) -> dict[int, int]:
        """See `Admin.delete_records`."""
        return await asyncio.to_thread(self._admin.delete_records, topic, before)

    async def list_groups(self) -> list[GroupListing]:
        """See `Admin.list_groups`."""
        return await asyncio.to_thread(self._admin.list_groups)

    async def describe_group(self, name: str) -> GroupInfo:
        """See `Admin.describe_group`."""
        return await asyncio.to_thread(self._admin.describe_group, name)

    async def group_lag(self, name: str) -> dict[TopicPartition, int]:
        """See `Admin.group_lag`."""
        return await asyncio.to_thread(self._admin.group_lag, name)

    async def reset_offsets(
        self, group: str, to: Start, *, topic: str | None = None, partitions: Sequence[int] | None = None
    ) -> dict[TopicPartition, int]:
        """See `Admin.reset_offsets`."""
        return await asyncio.to_thread(self._admin.reset_offsets, group, to, topic=topic, partitions=partitions)

    async def delete_group(self, name: str) -> None:
        """See `Admin.delete_group`."""
        await asyncio.to_thread(self._admin.delete_group, name)

    async def list_transactions(self, *, states: Sequence[str] = ()) -> list[TransactionListing]:
        """See `Admin.list_transactions`."""
        return await asyncio.to_thread(self._admin.list_transactions, states=states)

    async def describe_transaction(self, transactional_id: str) -> TransactionInfo:
        """See `Admin.describe_transaction`."""
        return await asyncio.to_thread(self._admin.describe_transaction, transactional_id)

    async def abort_transaction(self, transactional_id: str) -> None:
        """See `Admin.abort_transaction`."""
        await asyncio.to_thread(self._admin.abort_transaction, transactional_id)
