"""Member ids that were handed out and not joined with yet (KIP-394)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock.broker.groups.memory import GroupAccount, kept_bytes


class PendingMembers:
    """The ids of one group, and when they lapse. A client may ask for any number of them, so they are accounted for."""

    def __init__(self, account: GroupAccount) -> None:
        self._account = account
        self._deadlines: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._deadlines)

    def __iter__(self) -> Iterator[str]:
        return iter(self._deadlines)

    def __contains__(self, member_id: object) -> bool:
        return member_id in self._deadlines

    def add(self, member_id: str, deadline_ms: int) -> None:
        if member_id not in self._deadlines:
            self._account.change(kept_bytes(member_id))
        self._deadlines[member_id] = deadline_ms

    def forget(self, member_id: str) -> bool:
        """Forget an id that is used, or no longer valid. Returns whether it was pending."""
        if self._deadlines.pop(member_id, None) is None:
            return False
        self._account.change(-kept_bytes(member_id))
        return True

    def lapsed(self, now_ms: int) -> Iterable[tuple[str, int]]:
        return [(member_id, at_ms) for member_id, at_ms in self._deadlines.items() if at_ms <= now_ms]

    def deadlines(self) -> Iterable[int]:
        return self._deadlines.values()
