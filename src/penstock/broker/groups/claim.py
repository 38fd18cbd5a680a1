"""Claims of requests: which member of a group a request says it is from."""

from __future__ import annotations

from typing import NamedTuple

from penstock.model.errors import ErrorCode

NO_GENERATION = -1


class Identity(NamedTuple):
    """Member id, and the instance id of a static member (KIP-345)."""

    member_id: str
    instance_id: str | None


class CommitClaim(NamedTuple):
    """The sender of an offset commit. Without arguments: a client that is not a member of the group.

    `generation` is a generation of the classic protocol; it is where a member epoch goes, too.
    """

    member_id: str = ""
    instance_id: str | None = None
    generation: int = NO_GENERATION
    in_transaction: bool = False
    knows_epochs: bool = False  # OffsetCommit v9+ (KIP-848)

    @property
    def is_anonymous(self) -> bool:
        """Whether the client does not identify itself: an admin client, or one that assigns partitions by itself."""
        return self.generation < 0 and not self.member_id and self.instance_id is None

    @property
    def unknown_group(self) -> ErrorCode:
        """The error for a member of a group that does not exist."""
        return ErrorCode.GROUP_ID_NOT_FOUND if self.knows_epochs else ErrorCode.ILLEGAL_GENERATION


NO_MEMBER = CommitClaim()
