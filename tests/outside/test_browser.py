"""A real browser on pages of others: they read nothing of a node and change nothing, not even with a user's session.

The pages are on another port of the same host (the same site to a browser, so that cookies are sent), on another host,
and under a name of their own that is rebound to the node (the same origin to a browser). Each does the same to a server
that protects nothing, which shows that the browser sends such requests.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.gate.world import TOPIC
from tests.outside.conftest import NAME
from tests.outside.pages import Careless, Handler, Rebound, serving
from tests.outside.victim import SECRET, Victim
from tests.support.certificates import Authority

pytestmark = [pytest.mark.slow, pytest.mark.feature("F-06"), pytest.mark.timeout(600)]

REFUSED = (401, 403, 421)
ALLOWED_TO_SEE = ("", "TypeError", "no answer", "false", "true", "null", "undefined")
"""What a page on another origin learns: that there was no answer, or that a beacon was queued."""


@pytest.fixture(scope="module", params=["PLAINTEXT", "SASL_SSL"])
def victim(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Victim]:
    victim = Victim(tmp_path_factory.mktemp("victim"), request.param)
    victim.start()
    yield victim
    victim.node.stop()


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    """The context of servers of pages; a browser lets no page of http ask for the cookies of https."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    Authority(tmp_path_factory.mktemp("evil")).issue("evil", hosts=["127.0.0.1", "localhost", NAME]).load(context)
    return context


class Pages:
    """A browser of a user who has a session at the node, if sessions are needed, and opens a page of somebody else."""

    def __init__(self, context: Any, stack: ExitStack, tls: ssl.SSLContext | None) -> None:
        self._context = context
        self._stack = stack
        self._tls = tls
        self._own_port = stack.enter_context(serving(Handler, tls))
        self._scheme = "https" if tls else "http"

    def log_in(self, victim: Victim) -> None:
        answer = self._context.request.post(
            f"{victim.origin}/api/v1/session", headers={"Authorization": str(victim.login)}
        )
        assert answer.status == 201, answer.text()

    def open(self, kind: str, target: str) -> tuple[Any, str]:
        """A page of this kind, and the address at which it finds the target."""
        page = self._context.new_page()
        if kind != "rebound":
            host = {"same site": "127.0.0.1", "other site": "localhost"}[kind]
            page.goto(f"{self._scheme}://{host}:{self._own_port}/")
            return page, target
        rebound = Rebound(self._own_port)
        self._stack.callback(rebound.close)
        own = f"{self._scheme}://{NAME}:{rebound.port}"
        page.goto(f"{own}/")
        port = urlsplit(target).port
        assert port is not None
        rebound.turn_to(port)
        return page, own

    def careless(self) -> str:
        port = self._stack.enter_context(serving(Careless, self._tls))
        return f"{self._scheme}://127.0.0.1:{port}"


@pytest.fixture
def pages(victim: Victim, browser: Any, tls: ssl.SSLContext) -> Iterator[Pages]:
    with ExitStack() as stack:
        context = browser.new_context(ignore_https_errors=True)
        stack.callback(context.close)
        found = Pages(context, stack, tls if victim.login else None)
        if victim.login:
            found.log_in(victim)
        yield found


def tried(page: Any, base: str, victim: Victim) -> dict[str, str]:
    """Everything that the page could read: on pages, and as answers to its acts."""
    read = page.evaluate("([base, paths]) => readAll(base, paths)", [base, victim.pages])
    answered = page.evaluate("([base, acts]) => changeAll(base, acts)", [base, victim.acts])
    return {**read, **answered}


@pytest.mark.parametrize("kind", ["same site", "other site", "rebound"])
def test_a_page_of_somebody_else(victim: Victim, pages: Pages, kind: str) -> None:
    before = victim.state()
    assert SECRET in str(before)
    page, base = pages.open(kind, victim.origin)
    found = tried(page, base, victim)
    assert len(found) == len(victim.pages) * 8 + 1 + len(victim.acts) * 6
    assert victim.state() == before
    assert not [what for what, text in found.items() if SECRET in text or f'"{TOPIC}"' in text]
    if kind == "rebound":
        answers = [text for what, text in found.items() if what.startswith("fetch /")]
        assert all('"status": 421' in text or '"status":421' in text for text in answers), answers
    else:
        assert set(found.values()) <= set(ALLOWED_TO_SEE), found


@pytest.mark.parametrize("kind", ["same site", "other site", "rebound"])
def test_the_same_page_at_a_careless_server(victim: Victim, pages: Pages, kind: str, monkeypatch: Any) -> None:
    """The control: it is changed by every page, and read by one whose name was rebound."""
    monkeypatch.setattr(Careless, "body", f'{{"value": "{SECRET}"}}'.encode())
    Careless.changes.clear()
    page, base = pages.open(kind, pages.careless())
    found = tried(page, base, victim)
    assert any(SECRET in text for text in found.values()) is (kind == "rebound")
    assert Careless.changes["/pipe/reset"] >= 4, "forms, beacons and simple requests arrive"


def test_the_session_is_the_browsers_alone(victim: Victim, pages: Pages) -> None:
    """The cookie has every protection, and yet it works for its user: a page that the user opens is shown."""
    if victim.login is None:
        pytest.skip("there are no sessions without logins")
    (cookie,) = pages._context.cookies()
    assert cookie["name"].startswith("__Host-")
    assert (cookie["httpOnly"], cookie["secure"], cookie["sameSite"]) == (True, True, "Strict")
    assert cookie["path"] == "/"
    page = pages._context.new_page()
    assert page.goto(f"{victim.origin}/api/v1/topics").status == 200
    assert page.evaluate("document.cookie") == ""


def test_the_acts_are_real(victim: Victim) -> None:
    """The last test: by one who may, each is done or fails for another reason, and the pages tell of it."""
    before = victim.state()
    statuses = victim.do_honestly()
    assert not [act for act, status in statuses.items() if status in REFUSED or status >= 500], statuses
    assert sum(status < 300 for status in statuses.values()) > len(statuses) // 2, statuses
    assert victim.state() != before
