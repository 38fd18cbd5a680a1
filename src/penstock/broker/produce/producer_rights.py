"""Whose producer id it is: while there are rules, nobody writes a batch under the producer id of another.

Producer ids are counted up, so they can be guessed, and a log takes the epoch and the sequence of an id from any batch
that it accepts. A client with the right to write to one common topic could fence a producer there for good, or keep a
transaction from ending. Kafka lets it. Without rules nothing is checked, as in Kafka.

    a transactional id has it         the right to write to that id; batches in a transaction are checked by
                                      `transactional`, with rules and without
    a push client has it              the principal that publishes under it; it is stored
    given out since the start         the principal that asked for it; nobody, once the table has forgotten who it was
    given out before                  anybody: who asked for it is not stored
    never given out                   nobody
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.broker.produce.producer_owners import OWNERS_MAX, ProducerOwners
from penstock.broker.transactions.producer_ids import ProducerIds
from penstock.model.batch import BatchHeader
from penstock.model.errors import ErrorCode, KafkaError
from penstock.security.access import Access
from penstock.security.principal import Principal
from penstock.security.resources import Operation
from penstock.security.session import Session


class ProducerRights:
    """`names` are the transactional ids by their producer ids."""

    def __init__(self, access: Access, producer_ids: ProducerIds, names: Mapping[int, str]) -> None:
        self._access = access
        self._names = names
        self._first_of_start = producer_ids.first
        self.owners = ProducerOwners(OWNERS_MAX)

    def given(self, producer_id: int, principal: Principal) -> None:
        """Note who asked for a producer id without transactions."""
        self.owners.given(producer_id, principal)

    def check(self, session: Session, header: BatchHeader) -> None:
        """KafkaError if the producer id of a batch is another's."""
        producer_id = header.producer_id
        if producer_id < 0 or header.is_transactional:
            return
        name = self._names.get(producer_id)
        if name is not None:
            if not self._access.allows_transactional_id(session, Operation.WRITE, name):
                raise KafkaError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
            return
        owners = self.owners
        owner = owners.of.get(producer_id)
        is_own = producer_id < self._first_of_start if owner is None else owner.principal == session.principal
        if not is_own:
            raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING, f"producer id {producer_id} is not this client's")
        if owners.is_crowded and owner is not None:
            owners.note_use(producer_id)
