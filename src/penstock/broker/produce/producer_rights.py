"""Whose producer id it is: while there are rules, nobody writes a batch under the producer id of another.

Producer ids are counted up, so they can be guessed, and a log takes the epoch and the sequence of an id from any batch
that it accepts. A client with the right to write to one common topic could fence a producer there for good, or keep a
transaction from ending. Kafka lets it. Without rules nothing is checked, as in Kafka.

    a transactional id has it    the right to write to that id; batches in a transaction are the coordinator's to check
    given out since the start    the principal that asked for it
    given out before             anybody: who asked for it is not stored
    never given out              nobody
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Final

from penstock.broker.transactions.producer_ids import ProducerIds
from penstock.model.batch import BatchHeader
from penstock.model.errors import ErrorCode, KafkaError
from penstock.security.access import Access
from penstock.security.principal import Principal
from penstock.security.resources import Operation
from penstock.security.session import Session

OWNERS_MAX: Final = 200_000
"""Of the producer ids that were given out last; about 20 MB."""


class ProducerRights:
    """`names` are the transactional ids by their producer ids."""

    def __init__(self, access: Access, producer_ids: ProducerIds, names: Mapping[int, str]) -> None:
        self._access = access
        self._producer_ids = producer_ids
        self._names = names
        self._owners: OrderedDict[int, Principal] = OrderedDict()

    def given(self, producer_id: int, principal: Principal) -> None:
        """Note who asked for a producer id without transactions."""
        self._owners[producer_id] = principal
        if len(self._owners) > OWNERS_MAX:
            self._owners.popitem(last=False)

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
        owner = self._owners.get(producer_id)
        is_own = self._producer_ids.is_given(producer_id) if owner is None else owner == session.principal
        if not is_own:
            raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING, f"producer id {producer_id} is not this client's")
