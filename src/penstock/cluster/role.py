"""Roles of a partition on this node: leader, follower, mirror.

    role       clients append   clients read   mirrored appends   leader epoch
    Leader     yes              yes            refused            its own
    Follower   refused          refused        yes                that of its leader
    Mirror     refused          yes            yes                none: its batches carry those of the root

A role is a value. `Partition` holds one and puts another in its place when leadership changes hands; waiters that
depend on the old role are notified at that moment. The roles of nodes are decided elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from penstock.cluster.mirrors import read_only
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import NO_EPOCH


@dataclass(frozen=True, slots=True)
class Leader:
    """The node that clients of the partition talk to."""

    epoch: int
    refusal: ClassVar[ErrorCode] = ErrorCode.NONE
    takes_appends: ClassVar[bool] = True
    takes_mirrored_appends: ClassVar[bool] = False

    def check_epoch(self, claimed: int) -> None:
        _check_epoch(self.epoch, claimed)

    def append_refusal(self, topic: str) -> KafkaError:
        raise AssertionError(f"the leader of {topic} takes appends")


@dataclass(frozen=True, slots=True)
class Follower:
    """A copy of another node's log. Clients are sent to the leader."""

    epoch: int
    refusal: ClassVar[ErrorCode] = ErrorCode.NOT_LEADER_OR_FOLLOWER
    takes_appends: ClassVar[bool] = False
    takes_mirrored_appends: ClassVar[bool] = True

    def check_epoch(self, claimed: int) -> None:
        _check_epoch(self.epoch, claimed)

    def append_refusal(self, topic: str) -> KafkaError:
        return KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"this node does not lead the partition of {topic}")


@dataclass(frozen=True, slots=True)
class Mirror:
    """A copy of the parent's partition in a hierarchy of brokers. Only the pipe writes to it."""

    epoch: ClassVar[int] = NO_EPOCH
    refusal: ClassVar[ErrorCode] = ErrorCode.NONE
    takes_appends: ClassVar[bool] = False
    takes_mirrored_appends: ClassVar[bool] = True

    def check_epoch(self, claimed: int) -> None:
        """Accept any epoch: a mirror tells clients none, so the one that a client names is from elsewhere."""

    def append_refusal(self, topic: str) -> KafkaError:
        return read_only(topic)


Role = Leader | Follower | Mirror


def _check_epoch(current: int, claimed: int) -> None:
    """Fence a client by the leader epoch that it names (KIP-320); NO_EPOCH means that it names none."""
    if claimed in (NO_EPOCH, current):
        return
    if claimed < current:
        raise KafkaError(ErrorCode.FENCED_LEADER_EPOCH)
    raise KafkaError(ErrorCode.UNKNOWN_LEADER_EPOCH)
