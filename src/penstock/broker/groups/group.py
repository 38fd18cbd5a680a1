"""The interface between the coordinator and a group, whatever protocol the members of the group speak.

A group is a state machine without I/O: it decides, and the shard acts (`broker.groups.log.shard`). A new kind of group
implements `CoordinatedGroup`, has a row in the table of constructors (`broker.groups.kinds`), rows for its records
(`broker.groups.log.record_table`) and a driver for the requests of its members (as `broker.groups.classic_requests`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from penstock.broker.groups.claim import CommitClaim
from penstock.broker.groups.description import GroupDescription
from penstock.broker.groups.effects import Effects, Now, Refused, Reply, Stored
from penstock.broker.groups.group_state import GroupState, GroupType
from penstock.broker.groups.offsets.records import CommittedOffset
from penstock.model.batch_builder import NewRecord
from penstock.model.errors import ErrorCode


class CoordinatedGroup(Protocol):
    """One group of one type. Where a method refuses something it raises KafkaError."""

    @property
    def group_id(self) -> str: ...

    @property
    def group_type(self) -> GroupType: ...

    @property
    def state(self) -> GroupState: ...

    @property
    def protocol_type(self) -> str | None:
        """The protocol type that ListGroups shows; None for a group that never had members."""

    @property
    def member_count(self) -> int: ...

    @property
    def is_vacant(self) -> bool:
        """Whether the group has no members, and none is about to join: without offsets it can be removed."""

    def describe(self) -> GroupDescription: ...

    # --- input and effects -------------------------------------------------------------------------------------------

    @property
    def wake_ms(self) -> int | None:
        """A moment no later than the next one at which `advance` has something to do, None if there is none."""

    def advance(self, now: Now) -> Effects:
        """Handle everything that has become due."""

    def resume(self, outcome: Stored | Refused, now: Now) -> Effects:
        """Go on after the records of earlier effects were stored or refused."""

    def loaded(self, now: Now) -> Effects:
        """Go on after a restart, once all records of the group have been read."""

    def abandon(self, code: ErrorCode) -> Sequence[Reply]:
        """Become Dead, because the state in memory can no longer be trusted, and answer every request that waits."""

    # --- offsets and deletion ----------------------------------------------------------------------------------------

    def check_commit(self, claim: CommitClaim, now: Now) -> None:
        """Refuse an offset commit that is not from a member of the group; an accepted one counts as a heartbeat."""

    def check_delete(self) -> None:
        """Refuse the deletion of a group that is in use."""

    def check_delete_offsets(self) -> None:
        """Refuse the deletion of offsets as a whole; `reads` then decides for each topic."""

    def reads(self, topic: str) -> bool:
        """Whether members of the group may be reading the topic."""

    def retention_start_ms(self, topic: str, committed: CommittedOffset) -> int | None:
        """When the retention time of an offset began to run (KIP-211), None while it does not run."""

    def tombstones(self) -> list[NewRecord]:
        """Records that remove everything of the group but its offsets."""
