"""The servers of a page that means no good: its own, a name that is rebound, and one that protects nothing."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

SCRIPT = Path(__file__).parent / "attack.js"
PAGE = b"<!doctype html><body><script>" + SCRIPT.read_bytes() + b"</script></body>"


class Handler(BaseHTTPRequestHandler):
    """Answers every request with the page, without a word to the log."""

    body: ClassVar[bytes] = PAGE
    content_type: ClassVar[str] = "text/html"

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        with contextlib.suppress(OSError):  # the browser has gone
            self.send_response(200)
            self.send_header("Content-Type", self.content_type)
            self.send_header("Content-Length", str(len(self.body)))
            self.end_headers()
            self.wfile.write(self.body)


class Careless(Handler):
    """Has something to read, and lets everybody change something: the control."""

    content_type = "application/json"
    changes: ClassVar[Counter[str]] = Counter()

    def do_POST(self) -> None:
        self.changes[self.path] += 1
        self.do_GET()


@contextmanager
def serving(handler: type[Handler], context: ssl.SSLContext | None = None) -> Iterator[int]:
    """A server of such answers, with TLS if there is a context; its port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Rebound:
    """An address that belongs to one server at first and to another one later, as a name does whose DNS is rebound."""

    def __init__(self, port: int) -> None:
        self.target = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listening.close()
        self._drop()

    def turn_to(self, port: int) -> None:
        """New connections go to another server; there are no old ones."""
        self.target = port
        self._drop()

    def _drop(self) -> None:
        for sock in self._open:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        self._open.clear()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # it was closed
            while True:
                client, _ = self._listening.accept()
                try:
                    server = socket.create_connection(("127.0.0.1", self.target), timeout=30)
                except OSError:
                    client.close()
                    continue
                self._open += (client, server)
                for pair in ((client, server), (server, client)):
                    threading.Thread(target=_pump, args=pair, daemon=True).start()


def _pump(source: Any, target: Any) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
