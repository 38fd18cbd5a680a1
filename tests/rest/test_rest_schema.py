"""schemathesis over the admin API: whatever is sent, right or wrong, is answered as docs/openapi.json says.

Requests are drawn from the schema. The short form sends a few to each operation, the long one thousands.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.specs.openapi import checks

from tests.rest.conftest import Rest
from tests.support.penstock_process import PenstockProcess

pytestmark = pytest.mark.feature("K-18", "P-19")

FILE = Path(__file__).parents[2] / "docs" / "openapi.json"
SCHEMA = schemathesis.openapi.from_path(FILE)
FOUND: list[Any] = list(SCHEMA.get_all_operations())
OPERATIONS = {operation.label: operation for operation in (found.ok() for found in FOUND)}
CHECKS: Any = [
    schemathesis.checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
    checks.negative_data_rejection,
    checks.unsupported_method,
    checks.allow_header_conformance,
]
EXISTING = {
    "topic": "orders", "partition": 0, "group": "billing", "broker": 1, "transactional_id": "copy",
    "token": "0123456789abcdef",
}  # fmt: skip
LIMITS = "limits:\n  topics_max: 60\n  partitions_max: 300\n  partitions_per_topic_max: 20\n"


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rest]:
    """A broker of its own, with little room: what is drawn may ask for a billion partitions."""
    process = PenstockProcess(tmp_path_factory.mktemp("fuzzed"), LIMITS)
    process.prepare()
    process.start()
    rest = Rest(process)
    yield rest
    assert process.running
    assert "Traceback" not in process.log_tail(10_000)
    process.stop()


@pytest.fixture
def prepared(fuzzed: Rest) -> Rest:
    """With the names that some of the requests use."""
    fuzzed("POST", "/topics", {"name": "orders", "partitions": 2})
    fuzzed("POST", "/topics/orders/messages", {"key": "k", "value": "v", "partition": 0})
    fuzzed("POST", "/groups/billing/offsets/reset", {"to": "earliest", "topics": [{"topic": "orders"}]})
    return fuzzed


def cases(label: str) -> st.SearchStrategy[Any]:
    """Right and wrong requests, to things that exist and to others."""
    operation = OPERATIONS[label]
    names = {each.name: EXISTING[each.name] for each in operation.path_parameters}
    right = schemathesis.GenerationMode.POSITIVE
    strategies = [operation.as_strategy(right), operation.as_strategy(schemathesis.GenerationMode.NEGATIVE)]
    if names:
        strategies.append(operation.as_strategy(right, path_parameters=names))
    return st.one_of(strategies)


def conforms(rest: Rest, label: str, examples: int) -> None:
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=cases(label))
    def run(case: Any) -> None:
        answer = case.call(base_url=f"http://127.0.0.1:{rest.process.http_port}/api/v1", timeout=30)
        case.validate_response(answer, checks=CHECKS)
        if answer.status_code >= 400:
            problem = answer.json()
            assert problem["status"] == answer.status_code
            assert problem["error"].isupper()
            assert problem["detail"]

    run()


@pytest.mark.parametrize("label", OPERATIONS)
def test_a_few_requests(prepared: Rest, label: str) -> None:
    conforms(prepared, label, 8)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_everything_that_the_schema_allows_and_forbids(prepared: Rest, tmp_path: Path) -> None:
    """The whole of schemathesis: examples, the bounds of every field, drawn requests, and chains of calls in which each
    uses what the one before has answered.

    Not checked: that all that fits the schema is taken, since what is impossible for another reason is a 400, too; and
    that what was created can be found, since with validate_only nothing is.
    """
    config = tmp_path / "schemathesis.toml"
    config.write_text('[checks]\nnegative_data_rejection.expected-statuses = ["4xx"]\n')
    # By the interpreter that runs this, wherever the scripts of its environment point to.
    program = [sys.executable, "-c", "from schemathesis.cli import schemathesis; schemathesis()"]
    url = f"http://127.0.0.1:{prepared.process.http_port}/api/v1"
    options = ["--exclude-checks", "positive_data_acceptance,ensure_resource_availability"]
    options += ["--phases", "examples,coverage,fuzzing,stateful", "--max-examples", "40", "--seed", "1", "--no-color"]
    options += ["--request-timeout", "30", "--warnings", "off", "--suppress-health-check", "all"]
    options += ["--generation-database", "none", "--max-time", "900"]
    command: list[str | Path] = [*program, "--config-file", config, "run", FILE, "--url", url, *options]
    run = subprocess.run(command, capture_output=True, text=True, timeout=1700, check=False, cwd=tmp_path)
    assert run.returncode == 0, run.stdout[-20_000:] + run.stderr[-2_000:]
