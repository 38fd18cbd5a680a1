"""Every page is followed, one after the other, on one broker with default settings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from penstock import Admin
from tests.docs.pages import ALL_PAGES, OTHER_TOPICS, PAGES, ROOT, SEPARATE_PAGES, Page
from tests.docs.reader import Reader
from tests.support.fixtures import running
from tests.support.penstock_process import PenstockProcess

PRINTED = {
    "README.md": [r"b'AAPL' b'187\.20' 0", "quote-readers"],
    "docs/sdk.md": [
        r"^\d 0 \d{13}$",  # the receipt of the first program, and the order that it reads
        r"customer-1'? \{'id': 7, 'item': 'nail'\}",
        r"^\d+ 1$",  # one record was not JSON
        r"AAPL 227\.51",
        "86400000",
    ],
    "docs/push-clients.md": [
        r"^[01] 0$",  # the client begins at a partition of its own
        r"b'187\.20'",
        r"AAPL 187\.2",
        "prices$",
        "given up: <Message watched-prices-0@1.*Field required",
        "Hello World",
    ],
    "docs/transactions.md": ["payments-1", "CompleteCommit|Empty"],
    "docs/bulk.md": ["2 rows"],
    "examples/simple-consumer/README.md": [r"simple-events-\d 0: key-\d"],
    "examples/exactly-once/README.md": ["1000 orders, 0 without an invoice, 0 with more than one"],
    "examples/fastapi-events/README.md": [r'\{"partition":0,"offset":0\}', '"user":"ann"'],
    "docs/hierarchy.md": ["root-1", "local-001", r"227\.50", "AMZN", "HEALTHY"],
    "docs/edge.md": [r"227\.5"],
    "docs/configuration.md": ["initial_rebalance_delay_ms"],
    "docs/operations.md": ["batch-import", "latencies"],
    "docs/spark.md": [r"\{\"symbol\": \"AAPL\"", r"AAPL\|\s*227\.5\|"],
    "docs/pipelines.md": ["visits_by_minute", "shop"],
    "examples/prices/README.md": [r"AAPL.*227\.51"],
}


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[PenstockProcess]:
    """With default settings, as the pages say."""
    for process in running(PenstockProcess(tmp_path / "broker")):
        assert isinstance(process, PenstockProcess)
        yield process


@pytest.mark.feature("K-18", "K-19", "P-10", "P-19", "Q-01")
@pytest.mark.timeout(600)
def test_pages_one_after_the_other(broker: PenstockProcess, tmp_path: Path) -> None:
    follow(PAGES, broker, tmp_path)


@pytest.mark.feature("P-27")
@pytest.mark.timeout(600)
def test_pages_with_brokers_of_their_own_or_none(broker: PenstockProcess, tmp_path: Path) -> None:
    """Beside the others, since they leave nothing behind that another page could find."""
    follow(SEPARATE_PAGES, broker, tmp_path)


def follow(pages: Sequence[Page], broker: PenstockProcess, directory: Path) -> None:
    reader = Reader(broker, directory / "reader")
    known: set[str] = set()
    with Admin(broker.bootstrap) as admin:
        for page in pages:
            try:
                reader.follow(page, PRINTED.get(page.path, ()))
            except AssertionError as error:
                raise AssertionError(f"{page.path}: {error}") from error
            topics = {name for name in admin.list_topics() if not name.startswith("__")}
            assert topics - known == page.topics, page.path
            known |= topics


def test_a_topic_belongs_to_one_page() -> None:
    owners: dict[str, str] = {}
    pages = [(page.path, page.topics | page.uses) for page in ALL_PAGES]
    for path, topics in [*pages, *OTHER_TOPICS.items()]:
        text = (ROOT / path).read_text(encoding="utf-8")
        for topic in topics:
            assert owners.setdefault(topic, path) == path
            if not path.startswith("examples/") and not topic.endswith(".dead"):
                assert topic in text, f"{path} does not name {topic}"


def test_every_page_with_something_to_run_is_run() -> None:
    """A new page with programs or commands joins the list, or shows them in blocks without a language."""
    followed = {page.path for page in ALL_PAGES}
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("README.md")]
    runnable = {
        str(page.relative_to(ROOT))
        for page in pages
        if re.search(r"^```(python|sh|http|sql)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert runnable == followed | (runnable & {"examples/edge/README.md"})
