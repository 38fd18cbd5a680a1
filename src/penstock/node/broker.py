"""The broker of a node, built from its storage: every part before those that use it."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

from penstock.broker.broker import Broker
from penstock.broker.fetch.sessions import FetchSessions
from penstock.broker.groups.coordinator import GroupCoordinator
from penstock.broker.quotas.quotas import Quotas
from penstock.broker.records.worker import RecordWorker
from penstock.broker.telemetry.telemetry import ClientTelemetry
from penstock.broker.transactions.coordinator import TransactionCoordinator
from penstock.broker.transactions.producer_ids import ProducerIds
from penstock.cluster.controller.controller import Controller
from penstock.cluster.partitions import PartitionTable
from penstock.cluster.topics import TopicTable
from penstock.cluster.visibility import visibility_of
from penstock.config.settings import Settings
from penstock.net.flow_control import FlowControl
from penstock.node.storage import Storage
from penstock.observability.metrics import BrokerMetrics
from penstock.runtime.clock import Clock
from penstock.security.access import Access
from penstock.security.principal import Principal
from penstock.storage.metadata.store import MetadataStore


def build_broker(
    settings: Settings,
    storage: Storage,
    *,
    access: Access,
    metrics: BrokerMetrics,
    clock: Clock,
    record_worker: RecordWorker,
    closing: AsyncExitStack,
) -> Broker:
    """The broker with its topics, configs and quotas loaded; `closing` ends its parts. Nothing is served yet."""
    engine, store, limits = storage.engine, storage.metadata, settings.limits
    topics = TopicTable()
    controller = Controller(store=store, engine=engine, topics=topics, settings=settings, authorizer=access.authorizer)
    closing.push_async_callback(controller.close)
    controller.load()
    partitions = PartitionTable(engine=engine, topics=topics, visibility=visibility_of(settings.storage.flush))
    groups = GroupCoordinator(
        settings=settings, partitions=partitions, topics=topics, controller=controller, clock=clock
    )
    producer_ids = _producer_ids(store)
    transactions = TransactionCoordinator(
        settings=settings.transactions,
        partitions=partitions,
        topics=topics,
        controller=controller,
        clock=clock,
        producer_ids=producer_ids,
        on_offsets_ended=groups.end_transaction,
    )
    quotas = Quotas(store=store.quotas, commands=controller.commands, clock=clock, probe=metrics.quotas)
    quotas.load()
    telemetry = ClientTelemetry(
        configs=controller.configs, worker=record_worker, settings=settings.telemetry, clock=clock
    )
    broker = Broker(
        settings=settings,
        node_id=settings.node.id,
        cluster_id=store.cluster_id,
        clock=clock,
        engine=engine,
        topics=topics,
        partitions=partitions,
        controller=controller,
        groups=groups,
        producer_ids=producer_ids,
        transactions=transactions,
        fetch_sessions=FetchSessions(limits.fetch_sessions_max),
        quotas=quotas,
        telemetry=telemetry,
        metrics=metrics,
        flow=FlowControl(limits.queued_bytes_total_max),
        record_worker=record_worker,
        access=access,
    )
    closing.callback(broker.codecs.close)
    if broker.producer_rights is not None:
        # Push clients go on as their producers, whether their door is open now or not.
        rows = store.push_producers.owners()
        broker.producer_rights.owners.keep((producer_id, Principal.of(name)) for producer_id, name in rows)
    return broker


def _producer_ids(store: MetadataStore) -> ProducerIds:
    """Ids in blocks, each of which is durable before it is used."""

    async def next_block(size: int) -> int:
        return await asyncio.to_thread(store.producer_ids.next_block, size)

    return ProducerIds(next_block, store.producer_ids.first_unused())
