"""A part of a file on its way to a socket: the kernel sends it from the page cache, and no process copies it."""

from __future__ import annotations

import os


class FilePart:
    """A part with a descriptor of its own, so that the file may be removed or closed by others meanwhile."""

    __slots__ = ("_fd", "_left", "_position")

    def __init__(self, fd: int, position: int, size: int) -> None:
        self._fd = os.dup(fd)
        self._position = position
        self._left = size

    def __len__(self) -> int:
        return self._left

    def send(self, socket_fd: int) -> int:
        """Send as much as the socket takes. BlockingIOError if that is nothing."""
        sent = os.sendfile(socket_fd, self._fd, self._position, self._left)
        if sent == 0:
            raise OSError("the file has become shorter")
        self._position += sent
        self._left -= sent
        return sent

    def read(self, size: int) -> bytes:
        """Take the next bytes, at most so many. OSError if the file has become shorter."""
        content = os.pread(self._fd, min(size, self._left), self._position)
        if not content:
            raise OSError("the file has become shorter")
        self._position += len(content)
        self._left -= len(content)
        return content

    def __del__(self) -> None:
        os.close(self._fd)
