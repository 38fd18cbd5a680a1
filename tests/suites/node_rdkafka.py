"""node-rdkafka: `e2e/` of its npm package, with KAFKA_HOST naming the broker."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tests.suites import reports
from tests.suites.packages import npm_package
from tests.suites.suite import BrokerNeeds, Result, Suite, Target, build, execute

SHA512 = "sfpTbrT35429cs0RE8Yb9avGX9BiRRvpV7aweQsghKTjtrVZP3jBrKOPItWXAqHb8doyh3SkuGuUVBLgig1SRg=="
RUN_TIMEOUT_S = 600


class NodeRdkafka(Suite):
    name = "node-rdkafka"
    version = "3.6.1"
    package = "npm package"
    client = "node-rdkafka (librdkafka 2.12)"
    # Those that the script beside its tests creates.
    needs = BrokerNeeds(topics=("test", "test2", "test3", "test4", "test5", "test6"))
    tools = ("npm", "node", "make", "gcc", "g++")

    def fetch(self) -> None:
        npm_package(self.name, self.version, SHA512, self.home / "source")
        build(["npm", "install", "--no-audit", "--no-fund", "--omit=dev"], self.home / "source")
        pinned = ["mocha@10.8.2", "bluebird@3.7.2"]
        build(
            ["npm", "install", "--no-audit", "--no-fund", "--no-save", "--ignore-scripts", *pinned],
            self.home / "source",
        )

    def run(self, target: Target, only: Sequence[str] = ()) -> dict[str, Result]:
        report = target.directory / "mocha.json"
        options = ["--exit", "--timeout", "20000", "--reporter", "json"]
        options += ["--reporter-option", f"output={report}"]
        if only:
            options += ["--grep", "|".join(re.escape(name) for name in only)]
        execute(
            ["node", "node_modules/mocha/bin/mocha.js", *options, "e2e/*.spec.js"],
            directory=self.home / "source",
            log=target.directory / "output.log",
            environment={"KAFKA_HOST": target.address},
            within_s=RUN_TIMEOUT_S,
            label=f"{self.name} on {target.kind}",
            ends_with=report,
        )
        return reports.from_mocha(report)
