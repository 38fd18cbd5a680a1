"""The way of docs/deployment.md to a secured service, run as it stands there, and the scrape of such a node."""

from __future__ import annotations

import getpass
import grp
import os
import re
import signal
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.support.broker_process import free_port
from tests.support.penstock_process import PenstockProcess
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("P-19")

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("## A secured service\n")[2].partition("\n## ")[0]
SCRAPES = ROOT / "deploy" / "prometheus" / "prometheus.yml"
AS_ITS_USER = "runuser -u penstock -- "
COMMAND = f"{sys.executable} -m penstock"


def blocks() -> tuple[list[str], list[str]]:
    """The commands that set up the node, and those that set up its scrape."""
    first, second = re.findall(r"^```\n(.*?)^```", SECTION, re.DOTALL | re.MULTILINE)
    return first.splitlines(), second.splitlines()


class Service(PenstockProcess):
    """A node in a directory that stands for the root of a machine, with the user of the tests."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._etc = directory / "etc"
        self.password = ""

    def run(self, *lines: str) -> str:
        """The output of commands of the page, but for those of systemd."""
        mine = [self._here(line) for line in lines if not line.startswith("systemctl ")]
        done = subprocess.run(["sh", "-ec", "\n".join(mine)], cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def _here(self, line: str) -> str:
        group = grp.getgrgid(os.getgid()).gr_name
        for told, here in (
            (AS_ITS_USER, ""),
            ("-o penstock -g penstock", f"-o {getpass.getuser()} -g {group}"),
            ("/opt/penstock/bin/penstock security init", f"{COMMAND} security init --listen {self.host}"),
            ("/opt/penstock/bin/penstock security", f"{COMMAND} security"),
            ("/etc/penstock.yml", str(ROOT / "deploy" / "penstock.yml")),
            ("/etc/", f"{self._etc}/"),
            ("/var/lib/penstock", str(self.data_directory)),
            ("broker.example:9092", f"localhost:{self.port}"),
            ("broker.example:8080", f"localhost:{self.http_port}"),
            ("broker.example", "localhost"),
        ):
            line = line.replace(told, here)
        return line

    def prepare(self) -> None:
        self.password = self.run(*blocks()[0]).strip()
        with (self._etc / "penstock" / "client.properties").open("a") as properties:
            properties.write(f"sasl.password={self.password}\n")

    def command(self) -> list[str]:
        (start,) = re.findall(
            r"^ExecStart=/opt/penstock/bin/penstock (.+)$",
            (self._etc / "systemd/system/penstock.service.d/secured.conf").read_text(),
            re.MULTILINE,
        )
        ports = (f"--kafka-port={self.port}", f"--http-port={self.http_port}", f"--push-port={free_port()}")
        return [sys.executable, "-m", "penstock", *start.split(), *ports]

    def _ready(self) -> bool:
        assert self.running, self.log_tail()
        return " ready " in self.log_file.read_text()

    def metrics(self, token: str) -> str:
        context = ssl.create_default_context(cafile=str(self._etc / "penstock" / "ca.pem"))
        url, headers = f"https://localhost:{self.http_port}/metrics", {"Authorization": f"Bearer {token}"}
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), context=context, timeout=30) as page:
            return str(page.read().decode())


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    service = Service(tmp_path)
    service.prepare()
    service.start()
    yield service
    service.kill9()


def test_the_commands_of_the_page_make_a_secured_node_that_is_scraped_with_a_token(service: Service) -> None:
    settings = yaml.safe_load((service.directory / "etc" / "penstock" / "penstock.yml").read_text())
    assert settings["security"]["protocol"] == "SASL_SSL"
    assert settings["storage"]["min_free_bytes"] == "2 GiB"
    token = service.run(*blocks()[1]).split()[-1]
    assert "penstock_connections" in service.metrics(token)
    os.kill(service.pid, signal.SIGHUP)  # as ExecReload does
    wait_until(lambda: "penstock_connections" in service.metrics(token), what="it serves on")


def test_whatever_makes_files_for_the_node_runs_as_its_user() -> None:
    for line in blocks()[0]:
        if "penstock security" in line:
            assert line.startswith(f"{AS_ITS_USER}/opt/penstock/bin/penstock security init ")
        if line.startswith("install -d") and not line.endswith(".service.d"):
            assert "-o penstock -g penstock -m 700" in line


def test_the_scrape_of_a_secured_node_stands_in_comments() -> None:
    text = SCRAPES.read_text(encoding="utf-8")
    (job,) = yaml.safe_load(re.sub(r"^    # (?=[a-z_ ]+:)", "    ", text, flags=re.MULTILINE))["scrape_configs"]
    assert job["scheme"] == "https"
    assert job["tls_config"] == {"ca_file": "/etc/prometheus/penstock-ca.pem"}
    assert job["authorization"] == {"credentials_file": "/etc/prometheus/penstock-token"}
    (plain,) = yaml.safe_load(text)["scrape_configs"]
    assert plain.keys() == {"job_name", "static_configs"}
