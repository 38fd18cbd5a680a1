"""kafka-python: `test/integration` of its source package, with KAFKA_URI naming the broker."""

from __future__ import annotations

from collections.abc import Sequence

from tests.suites import reports
from tests.suites.packages import pypi_source, virtual_environment
from tests.suites.suite import HERE, KAFKA_VERSION, BrokerNeeds, Result, Suite, Target, execute

SHA256 = "4ccda3616b9aa5c353d74a97f2770d6cd1b950890d77ab0e8890e09a48eeed65"
TEST_TIMEOUT_S = 60
RUN_TIMEOUT_S = 600

# Tests that start brokers of their own, with TLS or SASL, whatever address they are given.
OWN_BROKERS = ("test_ssl_integration.py", "test_sasl_integration.py")
# The source package leaves out test/__init__.py and test/service.py; the latter starts brokers, and nothing of it is
# used for a broker that is already running.
SERVICE = """class ExternalService:
    def __init__(self, host, port):
        self.host, self.port = host, port

    def stop(self):
        pass

    def dump_logs(self):
        pass


class SpawnedService(ExternalService):
    pass
"""


class KafkaPython(Suite):
    name = "kafka-python"
    version = "3.0.12"
    package = "PyPI source package"
    client = "kafka-python"
    # Their own brokers have the id 0, four partitions to a topic, and allow short sessions.
    needs = BrokerNeeds(node_id=0, partitions=4, session_timeout_min_ms=1000)

    def fetch(self) -> None:
        source = self.home / "source"
        pypi_source(self.name, self.version, SHA256, source)
        (source / "test" / "__init__.py").touch()
        (source / "test" / "service.py").write_text(SERVICE)
        virtual_environment(self.home / "venv", HERE / "kafka-python.txt")

    def run(self, target: Target, only: Sequence[str] = ()) -> dict[str, Result]:
        report = target.directory / "junit.xml"
        tests = [_path(name) for name in only] or ["test/integration"]
        tests += [f"--ignore=test/integration/{file}" for file in OWN_BROKERS]
        options = ["-q", "-p", "no:cacheprovider", "-o", "addopts=", "--tb=short", "--show-capture=no"]
        options += [f"--timeout={TEST_TIMEOUT_S}", "--timeout-method=signal", f"--junitxml={report}"]
        execute(
            [str(self.home / "venv/bin/python"), "-m", "pytest", *options, *tests],
            directory=self.home / "source",
            log=target.directory / "output.log",
            environment={
                "KAFKA_URI": f"kafka://{target.address}",
                "KAFKA_VERSION": KAFKA_VERSION,
                "KAFKA_ROOT": str(self.home),
            },
            within_s=RUN_TIMEOUT_S,
            label=f"{self.name} on {target.kind}",
        )
        return reports.from_junit(report)


def _path(name: str) -> str:
    """`test.integration.test_ssl.TestSSL::test_a` as pytest takes it: a file, perhaps a class, a function."""
    module, _, function = name.partition("::")
    parts = module.split(".")
    classes = [part for part in parts if part[:1].isupper()]
    file = "/".join(part for part in parts if part not in classes) + ".py"
    return "::".join([file, *classes, function])
