"""Which pages are run, in which order, and the topics that belong to each of them.

A topic belongs to one page: pages are read on one broker, and two pages with other contents for the same name end in
errors. What is run of a page:

    ```python   a program; with a first line `# name.py`, a file of that name
    ```sh       commands, a line each
    ```http     a request to the admin API, and what it answers
    ```sql      statements for a Spark session, together with the programs of their page

Blocks without a language are shown, not run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

_BLOCK = re.compile(r"^```(python|sh|http|sql)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Page:
    path: str
    topics: frozenset[str] = frozenset()
    """Topics that are on the broker when the page was followed, and were not there before."""
    uses: frozenset[str] = frozenset()
    """Topics of the page that it deletes itself, or that are on brokers of its own."""
    is_for_spark: bool = False
    """Its programs and statements belong to one Spark session."""
    languages: frozenset[str] = frozenset({"python", "sh", "http", "sql"})

    @property
    def blocks(self) -> list[tuple[str, str]]:
        """Language and text of each block that is run."""
        found = _BLOCK.findall((ROOT / self.path).read_text(encoding="utf-8"))
        return [(language, text) for language, text in found if language in self.languages]


def _page(path: str, *topics: str, uses: tuple[str, ...] = ()) -> Page:
    return Page(path, frozenset(topics), frozenset(uses))


PAGES = (
    _page("README.md", "ticker", "quotes"),
    _page("docs/sdk.md", "orders", "orders-dead", "invoices", "stock-prices", "trades", "ticks"),
    _page("docs/push-clients.md", "greetings", "samples", "watched-prices", "watched-prices.watch.dead", "notes"),
    _page("docs/rest.md", uses=("parcels",)),
    _page("docs/transactions.md", "payments", "receipts"),
    _page("docs/bulk.md", "sales", "sales-again"),
    _page("examples/simple-producer/README.md", "simple-events"),
    _page("examples/simple-consumer/README.md"),
    _page("examples/exactly-once/README.md", "billing-orders", "billing-invoices"),
    _page("examples/fastapi-events/README.md", "web-events"),
    _page("docs/edge.md", "price-topic"),
)
SEPARATE_PAGES = (
    _page("docs/hierarchy.md", uses=("shop-prices",)),
    _page("docs/configuration.md"),
    _page("docs/operations.md"),  # its quotas would hold for every page that follows
)
SPARK_PAGES = (
    Page("docs/spark.md", frozenset({"stocks"}), is_for_spark=True),
    # Its Python and SQL are what `pipeline init` writes into a project.
    Page("docs/pipelines.md", frozenset({"visits"}), languages=frozenset({"sh"})),
    _page("examples/prices/README.md", "prices", "price-alerts"),
)
ALL_PAGES = (*PAGES, *SEPARATE_PAGES, *SPARK_PAGES)
OTHER_TOPICS = {"examples/topics_as_tables.py": {"example-prices", "example-large-trades"}}
"""Of programs that are no page, and have tests of their own."""
