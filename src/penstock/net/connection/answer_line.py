"""The replies of a connection, sent in the order of the requests, and the bytes that the client has not read.

A reply that is ready leaves when those before it have left, in one write with those that become ready together with it.
A reply that lies in a file is passed to the socket in portions, and the others wait behind it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

from penstock.net.connection.file_sender import PORTION_BYTES, Part, Sender, is_plain, sender_of
from penstock.net.connection.shared import Shared, ignore
from penstock.net.flow_control import Account
from penstock.net.reply import SILENCE, Reply
from penstock.protocol.kafka.primitives import INT32

JOINED_BYTES_MAX: Final = 4096
"""Below this size, one copy is cheaper than passing many buffers to the system."""


class AnswerOwner(Protocol):
    """The connection whose replies these are."""

    def answers_sent(self) -> None:
        """Called when replies have left, so that there is room for further requests."""
        ...

    def answers_read(self) -> None:
        """Called when the client has read some bytes of its answers."""
        ...

    def answers_unread(self) -> None:
        """Called when the client does not read: more is unread than a connection may have."""
        ...

    def close(self, reason: str | None = None) -> None: ...


class _Gone:
    """The owner of a line whose client has gone."""

    def answers_sent(self) -> None: ...

    def answers_read(self) -> None: ...

    def answers_unread(self) -> None: ...

    def close(self, reason: str | None = None) -> None: ...


class _Finishing:
    """The owner of a line whose connection ends when its last reply has been sent."""

    def __init__(self, line: AnswerLine, owner: AnswerOwner) -> None:
        self._line = line
        self._owner = owner

    def answers_sent(self) -> None:
        if not self._line.replies:
            self._owner.close()

    def answers_read(self) -> None: ...

    def answers_unread(self) -> None: ...

    def close(self, reason: str | None = None) -> None:
        self._owner.close(reason)


_GONE: Final = _Gone()
_EMPTY: Final[deque[Reply]] = deque()
"""The line of a connection that has not had to wait: a deque takes 760 bytes, and is made with the first reply."""


class AnswerLine:
    """The line of replies; implements `net.outbox.Sender`."""

    __slots__ = ("_account", "_is_open", "_last_answer_bytes", "_on_completed", "_owner", "_ready", "_sender",
                 "_shared", "_transport", "_unread_held", "last_read", "replies", "unread_bytes")  # fmt: skip

    def __init__(self, transport: asyncio.Transport, shared: Shared, owner: AnswerOwner) -> None:
        self._transport = transport
        self._shared = shared
        self._account: Account = shared.flow
        self._owner = owner
        self._on_completed: Callable[[], None] = self._completed
        self.replies = _EMPTY
        """Not sent yet, oldest first. Changed here only."""
        self._sender: Sender | None = None  # replies wait behind what it sends
        self._ready = False  # in the outbox
        self._is_open = True
        self._last_answer_bytes = 0
        self._unread_held = 0  # the memory of unread answers
        self.unread_bytes = 0
        self.last_read = 0.0
        """When the client last read some bytes of its answers."""

    def send_at_once(self, reply: Reply) -> bool:
        """Send a reply that is ready; False if it has to wait for those before it or for some to leave with it."""
        header, body = reply.header, reply.body
        if body is SILENCE:
            return True
        if body is None or self.replies or self._sender is not None or reply.gathers:
            return False
        size = len(header) + sum(map(len, body))
        self._write([INT32.pack(size) + header, *body], 4 + size)
        return True

    def put(self, reply: Reply) -> None:
        """Send a reply when it is ready and those before it have left."""
        if self.replies is _EMPTY:
            self.replies = deque()
        self.replies.append(reply)
        if reply.done:
            self._completed()
        else:
            reply.listener = self._on_completed

    def _completed(self) -> None:
        """Queue a reply that is ready, to leave with those that are completed in the same turn."""
        if not self._ready and self.replies and self.replies[0].done:
            self._ready = True
            self._shared.outbox.put(self)

    def send_ready(self) -> None:
        """Send the replies at the head of the line that are ready."""
        self._ready = False
        if self._sender is not None:
            return  # `_sent_some` continues with them
        replies = self.replies
        service = self._shared.service
        now = self._shared.clock()
        parts: list[Part] = []
        all_bytes = 0
        while replies and replies[0].done:
            reply = replies.popleft()
            body = reply.body
            if body is None:
                self._write(parts, all_bytes)
                self._owner.close("a request that expects no answer failed")
                return
            if body is not SILENCE:
                size = len(reply.header) + sum(map(len, body))
                parts.append(INT32.pack(size) + reply.header)
                parts += body
                all_bytes += 4 + size
            service.answered(reply.api_key, now - reply.started)
        self._write(parts, all_bytes)
        self._owner.answers_sent()

    def _write(self, parts: list[Part], size: int) -> None:
        """Write these parts, which have so many bytes."""
        if not self._is_open or not parts:
            return
        self._last_answer_bytes = size
        if size <= JOINED_BYTES_MAX and is_plain(parts):
            self._transport.write(b"".join(parts))
        elif is_plain(parts) and (size <= PORTION_BYTES or not self._shared.encrypted):
            self._transport.writelines(parts)
        else:
            sender = self._sender = sender_of(self._transport, parts, self._sent_some, self._owner.close)
            sender.send()
            if not sender.unsent and self._sender is sender:  # a write may say that it is done before it returns
                self._sender = None
        self._note_unread()

    def _sent_some(self) -> None:
        """Continue with the replies behind an answer that lies in a file, once that is sent."""
        if not self._is_open:
            return
        if self._sender is not None and not self._sender.unsent:
            self._sender = None
            self._completed()
        self._note_unread()
        self._owner.answers_read()

    def drained(self) -> None:
        """Note that the transport's buffer is empty."""
        if self._sender is not None:
            self._sender.send()
            self._sent_some()
        else:
            self._note_unread()
            self._owner.answers_read()

    def _note_unread(self) -> None:
        unread = self._transport.get_write_buffer_size()
        if self._sender is not None:
            unread += self._sender.unsent
        if unread != self.unread_bytes:
            if unread < self.unread_bytes:
                self.last_read = self._shared.clock()
            self.unread_bytes = unread
            held = self._memory_of(unread)
            change, self._unread_held = held - self._unread_held, held
            self._account.change(change)
            if unread > self._shared.limits.unread_bytes_max:
                self._owner.answers_unread()

    def move(self, account: Account) -> None:
        """Count at another account from now on; the earlier one is about to be closed, or has nothing of it."""
        self._account = account
        account.change(self._unread_held)

    def _memory_of(self, unread: int) -> int:
        """The memory behind unread bytes: an answer keeps all of it until its last byte is sent.

        Answers are assumed to be of similar size.
        """
        if not unread:
            return 0
        last = self._last_answer_bytes
        return last if unread <= last else unread + last

    def close_when_sent(self) -> None:
        """Close the connection when the last reply has been sent."""
        self._owner = _Finishing(self, self._owner)

    def close(self) -> None:
        """Send nothing more: the connection closes."""
        self._is_open = False
        if self._sender is not None:
            self._sender.stop()

    def release(self) -> None:
        """Abandon all replies and give their memory back: the client has gone.

        The line lets go of its owner and of itself. Garbage in a circle would wait for the collector, with every
        connection that ends.
        """
        self.close()
        for reply in self.replies:
            reply.abandon()
        self.replies = _EMPTY
        held, self._unread_held = self._unread_held, 0
        self.unread_bytes = 0
        if held:
            self._account.change(-held)
        self._owner = _GONE
        self._on_completed = ignore
