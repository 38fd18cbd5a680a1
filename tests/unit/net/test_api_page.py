"""The page of an HTTP application: everything that its OpenAPI says, and nothing from elsewhere."""

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from penstock.net.http.api_page import page
from penstock.net.http.server import WebApplication

DOCUMENT = json.loads((Path(__file__).parents[3] / "docs" / "openapi.json").read_text())
PAGE = page(DOCUMENT, "/api/v1")
OPERATIONS = [(method, path, each) for path, item in DOCUMENT["paths"].items() for method, each in item.items()]


def test_nothing_is_loaded_from_anywhere() -> None:
    assert "<script" not in PAGE
    assert re.findall(r"<link|<img|@import|url\(|src=", PAGE) == []
    assert re.findall(r'href="([^"]*)"', PAGE) == ["openapi.json"]


@pytest.mark.parametrize(
    ("method", "path", "operation"), OPERATIONS, ids=[f"{each[0]} {each[1]}" for each in OPERATIONS]
)
def test_every_operation_is_there_with_its_parameters(method: str, path: str, operation: dict[str, Any]) -> None:
    head = f"<b>{method.upper()}</b><code>/api/v1{path}</code>"
    assert PAGE.count(head) == 1
    (section,) = re.findall(re.escape(head) + r".*?</details>", PAGE, re.DOTALL)
    for parameter in operation.get("parameters", ()):
        assert f"<td>{parameter['name']}</td>" in section
    for status in operation["responses"]:
        assert f"<code>{status}</code>" in section


def test_the_commands_have_bodies_of_the_right_form() -> None:
    commands = [unescape(found) for found in re.findall(r"<pre>(.*?)</pre>", PAGE, re.DOTALL)]
    bodies = {command.split("'")[1]: command.split("-d '")[1][:-1] for command in commands if "-d '" in command}
    assert json.loads(bodies["http://HOST:PORT/api/v1/topics"])["name"]
    assert all(isinstance(json.loads(body), dict | list) for body in bodies.values())


def test_texts_are_texts() -> None:
    """A description is never interpreted as markup."""
    app = WebApplication(title="<b>A & B</b>")

    @app.get("/x/{name}")
    def ask(name: str, more: int = 3) -> str:
        """Less < more."""
        return name

    shown = page(app.openapi())
    assert "&lt;b&gt;A &amp; B&lt;/b&gt;" in shown
    assert "Less &lt; more." in shown
    assert list(app.openapi()["paths"]) == ["/x/{name}"]
