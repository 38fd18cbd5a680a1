"""A private Spark Connect server on loopback, for as long as a command runs.

`spark-pipelines` refuses `--master`, but a Connect server takes it. So the command starts a server on this machine,
which runs locally or on a cluster, and the pipeline talks to it. Tables are kept in a catalog below the state directory
(Derby through Spark's Hive catalog): Spark's default catalog forgets them with the process, and then refuses to create
a table where its files already are.
"""

from __future__ import annotations

import secrets
import socket
import time
from collections.abc import Mapping
from pathlib import Path

from penstock.cli.log.tail import telling_line
from penstock.cli.pipeline.spark_environment import spark_jar
from penstock.cli.processes.child_process import ChildProcess
from penstock.cli.terminal.errors import CommandError

HOST = "127.0.0.1"
START_TIMEOUT_S = 120.0
POLL_S = 0.05
CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"
TOKEN = "SPARK_CONNECT_AUTHENTICATE_TOKEN"
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
JARS = "spark.jars"


class SparkServer(ChildProcess):
    """Server process that starts on entry; clients with its secret can use it once `wait_until_ready` has returned."""

    def __init__(
        self, *, name: str, master: str, state: Path, log: Path, environ: Mapping[str, str], conf: Mapping[str, str]
    ) -> None:
        self._port = _free_port()
        self._log_path = log
        self.secret = {TOKEN: secrets.token_hex(16)}
        """Variables that the environment of a client must have."""
        settings = _everywhere(state, self._port) | (_local(state) if master.startswith("local") else {})
        own_options = settings[JAVA_OPTIONS]
        settings |= dict(conf)
        settings[JAVA_OPTIONS] = f"{own_options} {conf.get(JAVA_OPTIONS, '')}".strip()
        if (jar := spark_jar()) is not None:
            settings[JARS] = ",".join(filter(None, (conf.get(JARS), str(jar))))
        command = [f"{environ['SPARK_HOME']}/bin/spark-submit", "--class", CLASS, "--name", name, "--master", master]
        for key, value in settings.items():
            command += ["--conf", f"{key}={value}"]
        # Spark leaves files in its working directory that have no other place.
        super().__init__(command, environ={**environ, **self.secret}, directory=state, log=log)

    @property
    def address(self) -> str:
        """The address for `--remote`."""
        return f"sc://localhost:{self._port}"

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        hint = f"the full log is {self._log_path}"
        while time.monotonic() < deadline:
            if self.exit_code is not None:
                raise CommandError(f"Spark did not start: {telling_line(self._log_path)}", hint=hint)
            try:
                socket.create_connection((HOST, self._port), 1.0).close()
            except OSError:
                time.sleep(POLL_S)
            else:
                return
        raise CommandError(f"Spark did not start within {START_TIMEOUT_S:.0f} s", hint=hint)


def _everywhere(state: Path, port: int) -> dict[str, str]:
    scratch = str(state / "tmp" / "hive")
    return {
        "spark.connect.grpc.binding.address": HOST,
        "spark.connect.grpc.binding.port": str(port),
        "spark.ui.enabled": "false",
        "spark.sql.warehouse.dir": (state / "warehouse").as_uri(),
        "spark.sql.catalogImplementation": "hive",
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={state}/catalog;create=true",
        "spark.hadoop.hive.exec.scratchdir": scratch,
        "spark.hadoop.hive.exec.local.scratchdir": scratch,
        JAVA_OPTIONS: f"-Dderby.system.home={state} -Dderby.stream.error.file={state}/logs/derby.log",
    }


def _local(state: Path) -> dict[str, str]:
    return {
        "spark.driver.host": HOST,
        "spark.driver.bindAddress": HOST,
        "spark.local.dir": str(state / "tmp"),
    }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
    return port
