"""A hierarchy of brokers as real processes, and a connection between two of them that can be cut."""

from __future__ import annotations

import json
import socket
import threading
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

from tests.support.penstock_process import PenstockProcess
from tests.support.waiting import wait_until

PIPE = """\
pipe:
  parent_url: {parent}
  poll_interval_ms: 50
  wait_ms: 2000
  timeout_ms: 2000
"""
STORAGE = """\
groups:
  initial_rebalance_delay_ms: 0
storage:
  retention_check_interval_ms: 500
  compaction_check_interval_ms: 500
  min_free_bytes: 1048576
  reserve_bytes: 0
"""


class HierarchyNode(PenstockProcess):
    """One broker. `parent` is a URL."""

    def __init__(self, directory: Path, parent: str | None = None, *, pipe: str = "", config: str = "") -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.extra_environment: dict[str, str] = {}
        text = STORAGE + config + (PIPE.format(parent=parent) + pipe if parent is not None else "")
        super().__init__(directory, text)

    def environment(self) -> dict[str, str]:
        return super().environment() | self.extra_environment

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http_port}"

    def begin(self) -> HierarchyNode:
        self.prepare()
        self.start()
        return self

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(self.url + path, timeout=10) as answer:
            return json.load(answer)

    def text(self, path: str) -> str:
        with urllib.request.urlopen(self.url + path, timeout=10) as answer:
            return str(answer.read().decode())

    def reset(self, topic: str | None = None) -> list[str]:
        query = "?" + urllib.parse.urlencode({"topic": topic}) if topic is not None else ""
        request = urllib.request.Request(f"{self.url}/pipe/reset{query}", method="POST")
        with urllib.request.urlopen(request, timeout=10) as answer:
            return list(json.load(answer)["reset"])

    @property
    def pipe(self) -> dict[str, Any]:
        return dict(self.get("/pipe/status"))

    def mirror(self, topic: str) -> dict[str, Any]:
        """The entry of a mirror on the status page; empty if there is none."""
        found = [each for each in self.pipe["topics"] if each["name"] == topic]
        return found[0] if found else {}

    def ends(self, topic: str) -> list[int]:
        """High watermarks of a topic's partitions."""
        for each in self.get("/pipe/topics")["topics"]:
            if each["name"] == topic:
                return [partition["logEnd"] for partition in each["partitions"]]
        return []

    def starts(self, topic: str) -> list[int]:
        topics = {each["name"]: each for each in self.get("/pipe/topics")["topics"]}
        return [partition["logStart"] for partition in topics[topic]["partitions"]] if topic in topics else []

    def wait_for_ends(self, topic: str, ends: list[int], *, within_s: float = 60) -> None:
        wait_until(lambda: self.ends(topic) == ends, what=f"{topic} at {ends}", within_s=within_s)

    def wait_for_state(self, topic: str, state: str) -> dict[str, Any]:
        def seen() -> dict[str, Any] | None:
            mirror = self.mirror(topic)
            return mirror if mirror.get("state") == state else None

        return wait_until(seen, what=f"{topic} is {state}") or {}


class Line:
    """A TCP proxy to one node's HTTP port."""

    def __init__(self, target: HierarchyNode) -> None:
        self._target = ("127.0.0.1", target.http_port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self.is_cut = False
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def cut(self) -> None:
        """Drop all bytes in transit, and refuse new connections."""
        self.is_cut = True
        with self._lock:
            connections, self._open = self._open, set()
        for each in connections:
            _close(each)

    def mend(self) -> None:
        self.is_cut = False

    def close(self) -> None:
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                child, _ = self._listener.accept()
            except OSError:
                return
            if self.is_cut:
                child.close()
                continue
            try:
                parent = socket.create_connection(self._target, timeout=30)
            except OSError:
                child.close()
                continue
            with self._lock:
                self._open |= {child, parent}
            for source, sink in ((child, parent), (parent, child)):
                threading.Thread(target=self._pass, args=(source, sink), daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(1 << 16):
                sink.sendall(data)
        except OSError:
            pass
        _close(source)
        _close(sink)


def _close(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    connection.close()
